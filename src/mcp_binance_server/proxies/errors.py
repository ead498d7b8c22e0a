"""Error of a proxy on the way to Binance."""

from dataclasses import dataclass
from typing import ClassVar

from mcp_binance_server.errors import ExchangeUnavailable


@dataclass(kw_only=True, eq=False)
class ProxyUnavailable(ExchangeUnavailable):
    """Binance was not reached because of a proxy. `reason` names the proxy, its variable and its answer."""

    error_type: ClassVar[str] = "proxy_unavailable"
    recovery_suggestion: ClassVar[str] = (
        "Ask the user to check the named proxy and variable; mcp-binance-server doctor lists the proxy of each "
        "connection"
    )

    @property
    def message(self) -> str:
        return f"Binance was not reached: {self.reason}."
