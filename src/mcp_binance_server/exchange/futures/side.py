"""What is asked of futures, as one: the client, the list of contracts, and what both have used."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_binance_server.errors import FuturesNotOffered
from mcp_binance_server.exchange.allowance import Allowance
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.futures.contracts import ContractList
from mcp_binance_server.exchange.futures.rest import FuturesClient


@dataclass(frozen=True, slots=True)
class FuturesSide:
    """Another host, with a budget, a clock and connections of its own."""

    client: FuturesClient
    contracts: ContractList

    @property
    def ledgers(self) -> Mapping[str, Budget | Allowance]:
        """What is spent there, by the names that a host watches it under."""
        budget = self.client.caller.budget
        return {"futures": budget, **{name.replace("-", "_"): each for name, each in budget.counters.items()}}


def offered(side: FuturesSide | None, setting: str) -> FuturesSide:
    """Return the side of futures, where there is one.

    Raises:
        FuturesNotOffered: there is none; it names what would have to be set.
    """
    if side is None:
        raise FuturesNotOffered(setting=setting)
    return side
