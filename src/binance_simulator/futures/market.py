"""The simulated futures market: index and mark price, quotes, last trades and 24-hour statistics."""

from collections.abc import Mapping
from dataclasses import dataclass

from binance_simulator.futures.funding import Funding
from binance_simulator.futures.interest import Interest
from binance_simulator.futures.liquidations import Liquidations
from binance_simulator.futures.listing import Contract, ContractListing
from binance_simulator.futures.premium import premiums_of
from binance_simulator.futures.ratios import Ratios
from binance_simulator.futures.tape import ContractTape, tape_of
from binance_simulator.market.book import Top
from binance_simulator.market.candles import Candle
from binance_simulator.market.crowd import Member, build_crowd
from binance_simulator.market.listing import UNIT
from binance_simulator.market.prices import DAY_MS, HOUR_MS, in_crowd
from binance_simulator.market.source import Source
from binance_simulator.market.synthetic import Market

SECOND_MS = 1_000
MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Mark:
    """Index and mark price in one second, in units of 0.00000001."""

    at_ms: int
    index: int
    mark: int
    premium: int


@dataclass(frozen=True, slots=True)
class Quote:
    """The best bid and ask, in ticks and lots of the contract. They are zero if the contract does not trade."""

    bid: int
    bid_lots: int
    ask: int
    ask_lots: int


@dataclass(frozen=True, slots=True)
class ContractDay:
    """Statistics of the last 24 hours. `total` is None without trades, and `last` is in ticks of the contract."""

    opened_ms: int
    closed_ms: int
    total: Candle | None
    last: int
    last_lots: int


class FuturesMarket:
    """Futures market that depends only on seed, time and the spot market.

    With `wild`, premiums and volumes are drawn independently of each other.
    """

    def __init__(self, spot: Market, listing: ContractListing, seed: int, *, wild: bool = False) -> None:
        self.spot = spot
        self.listing = listing
        self.seed = seed
        self.wild = wild
        self.premiums = premiums_of(seed, wild=wild)
        self._members: Mapping[str, Member] = {}
        self._tapes: dict[str, ContractTape] = {}
        self._funding: dict[str, Funding] = {}
        self._interest: dict[str, Interest] = {}
        self._ratios: dict[str, Ratios] = {}
        self._liquidations: dict[str, Liquidations] = {}

    def set_members(self, members: Mapping[str, Member]) -> None:
        """Set the additional spot markets, for symbols that spot does not list."""
        self._members = members

    def contracts(self, now_ms: int) -> Mapping[str, Contract]:
        """Return the contracts listed at a time."""
        return self.listing.contracts(now_ms)

    def tape(self, contract: Contract) -> ContractTape:
        """Return the tape of a contract."""
        found = self._tapes.get(contract.name)
        if found is None:
            found = self._tapes[contract.name] = tape_of(contract, self.spot.history(contract.spot), self.premiums)
        return found

    def funding(self, contract: Contract) -> Funding | None:
        """Return the funding of a perpetual, or None for a delivery contract."""
        if contract.plan is None:
            return None
        found = self._funding.get(contract.name)
        if found is None:
            found = self._funding[contract.name] = Funding(contract, contract.plan, self.premiums)
        return found

    def liquidations(self, contract: Contract) -> Liquidations:
        """Return all forced orders of a contract."""
        found = self._liquidations.get(contract.name)
        if found is None:
            found = self._liquidations[contract.name] = Liquidations(self.tape(contract), self.seed)
        return found

    def interest(self, contract: Contract) -> Interest:
        """Return the open interest of a contract."""
        found = self._interest.get(contract.name)
        if found is None:
            forced = self.liquidations(contract)
            found = self._interest[contract.name] = Interest(self.tape(contract), forced, self.seed, wild=self.wild)
        return found

    def ratios(self, contract: Contract) -> Ratios:
        """Return the long shares of a contract."""
        found = self._ratios.get(contract.name)
        if found is None:
            found = self._ratios[contract.name] = Ratios(self.tape(contract), self.seed, wild=self.wild)
        return found

    def mark(self, contract: Contract, now_ms: int) -> Mark:
        """Return the index and mark price of the second that contains `now_ms`. Both change once a second."""
        at_ms = now_ms // SECOND_MS * SECOND_MS
        return self.mark_at(contract, at_ms)

    def mark_at(self, contract: Contract, at_ms: int) -> Mark:
        """Return the index and mark price at an exact time. The index is the mid price of the spot market.

        On a full hour, the index is the last spot price, which is half a spread from the mid price. It needs no
        computation, and histories have hundreds of full hours.
        """
        premium = self.premiums.at(contract, at_ms)
        unit = contract.spot.tick * contract.multiplier
        if at_ms % HOUR_MS == 0 and contract.trading and self._source(contract) is None:
            history = self.spot.history(contract.spot)
            if history.ended_ms is None:
                return _marked(at_ms, history.price_at(at_ms // HOUR_MS) * unit, premium)
        top = self._spot_top(contract, at_ms)
        if top is None:
            history = self.spot.history(contract.spot)
            trade = history.last(history.until(at_ms))
            price = 0 if trade is None else trade.price * unit
            return Mark(at_ms, price, price, 0)
        return _marked(at_ms, (top.bid[0] + top.ask[0]) * unit // 2, premium)

    def quote(self, contract: Contract, now_ms: int) -> Quote:
        """Return the best bid and ask around the mark price."""
        top = self._spot_top(contract, now_ms)
        if top is None:
            return Quote(0, 0, 0, 0)
        scale = self.tape(contract).scale(now_ms)
        bid = scale.bid(top.bid[0])
        return Quote(bid, top.bid[1], max(bid + 1, scale.ask(top.ask[0])), top.ask[1])

    def day(self, contract: Contract, now_ms: int) -> ContractDay:
        """Return the statistics of the last 24 hours. The span starts at a full minute."""
        history, tape = self.spot.history(contract.spot), self.tape(contract)
        opened_ms = now_ms // MINUTE_MS * MINUTE_MS - DAY_MS + MINUTE_MS
        until = history.until(now_ms)
        last = history.last(until)
        ticks = 0 if last is None else tape.scale(last.time_ms).price(last.price)
        total = tape.window(opened_ms, until) if until > opened_ms else None
        closed_ms = now_ms if total is not None or last is None else last.time_ms
        return ContractDay(opened_ms, closed_ms, total, ticks, 0 if last is None else last.lots)

    def _spot_top(self, contract: Contract, at_ms: int) -> Top | None:
        if not contract.trading:
            return None
        source = self._source(contract)
        return self.spot.top(contract.spot, at_ms) if source is None else source.top(at_ms)

    def _source(self, contract: Contract) -> Source | None:
        return self.spot.sources.get(contract.spot.name) or self._members.get(contract.spot.name)


def _marked(at_ms: int, index: int, premium: int) -> Mark:
    return Mark(at_ms, index, (2 * index * (UNIT + premium) + UNIT) // (2 * UNIT), premium)


def members_of(listing: ContractListing, seed: int, now_ms: int) -> dict[str, Member]:
    """Return the spot markets of the additional contracts."""
    symbols = [each.spot for each in listing.contracts(now_ms).values() if in_crowd(each.spot.base)]
    return build_crowd(symbols, seed)
