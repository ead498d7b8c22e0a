"""Access to futures as one object: the client, the list of contracts, and their limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.allowance import Allowance
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.futures.contracts import ContractList
from mcp_binance_server.exchange.futures.rest import FuturesClient


@dataclass(kw_only=True, eq=False)
class FuturesNotOffered(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "futures_not_offered"
    guide: ClassVar[str] = "guide://document/data/freshness.md"

    setting: str

    @property
    def message(self) -> str:
        return f"This server was set up without Binance's futures: {self.setting} is not set."

    def data(self) -> dict[str, Any]:
        instead = f"Use the spot market, or set {self.setting} in the environment of this server and restart it"
        return {**super().data(), "recovery_suggestion": instead}


@dataclass(frozen=True, slots=True)
class FuturesSide:
    """Client, contracts and limits of the futures host; its budget, clock and connections are separate from spot."""

    client: FuturesClient
    contracts: ContractList

    @property
    def ledgers(self) -> Mapping[str, Budget | Allowance]:
        """Request limits of the host, by their names in the metrics."""
        budget = self.client.caller.budget
        return {"futures": budget, **{name.replace("-", "_"): each for name, each in budget.counters.items()}}


def offered(side: FuturesSide | None, setting: str) -> FuturesSide:
    """Return the futures side.

    Raises:
        FuturesNotOffered: this network has no futures; the error names the missing setting.
    """
    if side is None:
        raise FuturesNotOffered(setting=setting)
    return side
