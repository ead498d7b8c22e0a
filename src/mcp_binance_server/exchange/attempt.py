"""One request to Binance: spend its weight, sign it, send it, settle the count; no second try."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_binance_server.channel import Channel
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.endpoints import Endpoint
from mcp_binance_server.exchange.faults import Refusal, read_refusal
from mcp_binance_server.exchange.networks import Network, host_of
from mcp_binance_server.exchange.principal import Principal
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.signing import rest_query, signed_query

Params = Mapping[str, str | int]

RECV_WINDOW_MS = 5_000


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a success and the host they came from."""

    content: bytes = field(repr=False)
    host: str


class Refused(Exception):
    """The exchange answered, and not with a success."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


@dataclass
class Attempts:
    """Sends single requests to the host that serves them now."""

    network: Network
    channel: Channel
    budget: Budget
    time: ServerTime
    _rerouted: bool = field(default=False, init=False)

    async def send(self, endpoint: Endpoint, params: Params, principal: Principal | None = None) -> Body:
        """Send one request and return the body of its success.

        Raises:
            Refused: the exchange said no.
            NoAnswer: nothing usable came back.
            RateLimited: it was not sent, the budget does not allow it.
        """
        await self.budget.spend(endpoint)
        base = self._base_url(endpoint)
        query, headers = self._written(params, principal)
        answer = await self.channel.get(
            f"{base}{endpoint.path}{query}", headers, body_cap=endpoint.body_cap, patience=endpoint.patience
        )
        self.time.glimpse(answer.headers.get("date", ""))
        await self.budget.settle(answer.headers)
        if answer.status != 200:
            raise Refused(read_refusal(answer))
        return Body(answer.body, host_of(base))

    def reroute(self, endpoint: Endpoint) -> bool:
        """Send public reads to the public data host from now on, if there is one and it was not tried yet."""
        if endpoint.signed or self._rerouted or self.network.public_data_url is None:
            return False
        self._rerouted = True
        return True

    def _written(self, params: Params, principal: Principal | None) -> tuple[str, dict[str, str]]:
        if principal is None:
            return (f"?{rest_query(params)}" if params else ""), {}
        stamped = {**params, "recvWindow": RECV_WINDOW_MS, "timestamp": self.time.now_ms()}
        return f"?{signed_query(stamped, principal.signer)}", {"X-MBX-APIKEY": principal.credentials.api_key}

    def _base_url(self, endpoint: Endpoint) -> str:
        if self._rerouted and not endpoint.signed and self.network.public_data_url:
            return self.network.public_data_url
        return self.network.rest_url
