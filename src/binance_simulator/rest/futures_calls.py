"""Definition of an endpoint of the futures host, and its request parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from binance_simulator import refusals
from binance_simulator.futures.listing import Contract
from binance_simulator.futures.market import FuturesMarket
from binance_simulator.futures.service import SimulatedFutures
from binance_simulator.rest.signing import Params, legal_symbol

Counter = Literal["data", "funding"]


@dataclass(frozen=True, slots=True)
class FuturesCall:
    """One request, at a fixed time of the exchange."""

    futures: SimulatedFutures
    params: Params
    now_ms: int

    @property
    def market(self) -> FuturesMarket:
        return self.futures.market

    def contract(self) -> Contract:
        """Read the mandatory symbol and return its contract."""
        return self.find(self.params.symbol_name())

    def find(self, name: str) -> Contract:
        """Return the listed contract.

        Raises:
            Refusal: the contract is unknown.
        """
        contract = self.futures.contracts(self.now_ms).get(name)
        if contract is None:
            raise refusals.bad_symbol()
        return contract

    def chosen(self) -> tuple[list[Contract], bool]:
        """Read the optional symbol. Also return whether the request is for a single symbol."""
        value = self.params.text("symbol")
        if value is not None:
            return [self.find(legal_symbol("symbol", value))], True
        return list(self.futures.contracts(self.now_ms).values()), False


@dataclass(frozen=True, slots=True)
class FuturesEndpoint:
    """One endpoint. Its `weight` can depend on the parameters, and `counter` is an additional request counter."""

    path: str
    names: tuple[str, ...]
    weight: Callable[[Params], int]
    answer: Callable[[FuturesCall], object]
    counter: Counter | None = None


def one_or_all(one: int, every: int) -> Callable[[Params], int]:
    """Return a weight that depends on whether the request names a symbol."""
    return lambda params: every if params.peek("symbol") is None else one
