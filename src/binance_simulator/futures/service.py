"""The futures host of one simulated exchange: market, limits, faults and request log."""

from collections.abc import Mapping

from binance_simulator.account import WeightMeter
from binance_simulator.faults import Faults
from binance_simulator.futures.limits import DATA_LIMIT, FUNDING_LIMIT, WEIGHT_LIMIT, RequestCounter
from binance_simulator.futures.liquidations import ForcedOrder
from binance_simulator.futures.listing import Contract, ContractListing
from binance_simulator.futures.market import FuturesMarket, members_of
from binance_simulator.futures.quirks import Quirks, refuse
from binance_simulator.market.listing import Listing
from binance_simulator.market.source import Said
from binance_simulator.market.synthetic import Market
from binance_simulator.refusals import Refusal
from binance_simulator.visits import Hub, ReceivedRequest

REMEMBERED_REQUESTS = 20_000
REMEMBERED_EVENTS = 500


class SimulatedFutures:
    """State that all requests to the futures host share. Its market depends only on seed and time."""

    def __init__(self, listing: Listing, seed: int, began_ms: int) -> None:
        self.listing = ContractListing(listing, seed, began_ms)
        self.meter = WeightMeter(WEIGHT_LIMIT)
        self.data_requests = RequestCounter(DATA_LIMIT)
        self.funding_requests = RequestCounter(FUNDING_LIMIT)
        self.faults = Faults()
        self.quirks = Quirks()
        self.requests: list[ReceivedRequest] = []
        self.hub = Hub()
        self.hub.messages_a_second = 10
        self.said = Said(REMEMBERED_EVENTS)
        self._seed = seed
        self._began_ms = began_ms
        self.market: FuturesMarket
        self.follow(Market(listing, seed), wild=False)

    def follow(self, market: Market, *, wild: bool) -> None:
        """Switch to another spot market."""
        self.market = FuturesMarket(market, self.listing, self._seed, wild=wild)
        self.said = Said(REMEMBERED_EVENTS)
        self.market.set_members(members_of(self.listing, self._seed, self._began_ms))

    def set_crowd(self, count: int) -> None:
        """List `count` additional perpetuals instead of the previous ones.

        Raises:
            ValueError: the number is out of range.
        """
        self.listing.set_crowd(count)
        self.follow(self.market.spot, wild=self.market.wild)

    def contracts(self, now_ms: int) -> Mapping[str, Contract]:
        """Return the contracts listed at a time."""
        return self.listing.contracts(now_ms)

    def liquidations(self, start_ms: int, end_ms: int, symbol: str | None = None) -> list[ForcedOrder]:
        """Return the liquidations with start <= time < end, oldest first.

        Without a contract, return those of all contracts.
        """
        listed = self.contracts(start_ms)
        chosen = listed.values() if symbol is None else [listed[symbol]]
        found = [
            order
            for contract in chosen
            if contract.trading
            for order in self.market.liquidations(contract).between(start_ms, end_ms)
        ]
        return sorted(found, key=lambda order: order.time_ms)

    def liquidate(self, symbol: str, at_ms: int, *, count: int = 1, lots: int = 1_000, sells: bool = True) -> None:
        """Liquidate `count` positions of a contract at a time.

        Long positions are sold, and short positions are bought back.
        """
        contract = self.contracts(at_ms)[symbol]
        price = self.market.quote(contract, at_ms).bid
        order = ForcedOrder(contract, at_ms, sells=sells, lots=lots, price=price, average=price)
        self.market.liquidations(contract).planted += [order] * count
        self.said = Said(REMEMBERED_EVENTS)

    def refuses(self, path: str, now_ms: int) -> int | None:
        """Return the HTTP status that refuses a handshake, or None to accept it."""
        try:
            refuse(self.quirks.take(path), now_ms)
        except Refusal as refusal:
            return refusal.status
        return None

    def record(self, request: ReceivedRequest) -> None:
        """Add a request to the log. A full log drops its older half."""
        self.requests.append(request)
        if len(self.requests) > REMEMBERED_REQUESTS:
            del self.requests[: REMEMBERED_REQUESTS // 2]
