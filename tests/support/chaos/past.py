"""What the exchange said at any moment, asked of the simulator itself: the market is a function of seed and time."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.rest.endpoints import Call
from binance_simulator.rest.history import klines
from binance_simulator.rest.signing import Params
from binance_simulator.rest.tickers import day_figures
from mcp_binance_server.clock import SystemClock
from support.chaos.exchange import GUESTS, watermark

Side = Sequence[tuple[Decimal, Decimal]]
# A server guesses the exchange's clock from a header with whole seconds until it has asked for the time.
TOLERANCE_MS = 750
# Nothing that is shown can be from before this.
OLDEST_MS = 120_000
MINUTE_MS = 60_000
FIGURES = {
    "last_price": "lastPrice", "open": "openPrice", "high": "highPrice", "low": "lowPrice", "volume": "volume",
    "quote_volume": "quoteVolume", "trade_count": "count",
}  # fmt: skip


class WrongAnswer(Exception):
    """A number that the exchange never said, or not at that moment."""


class OlderThanSaid(Exception):
    """An answer that claims a later moment than the one it shows."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer's structure and text, and the machine's time when it was asked for and when it came."""

    structure: Mapping[str, Any]
    text: str
    asked_ms: int
    heard_ms: int


def moment(written: str) -> int:
    """Return the milliseconds of a moment as we write it."""
    return round(datetime.fromisoformat(written).timestamp() * 1000)


@dataclass
class Past:
    """The market again, from the same seed, and when the exchange's clock was set forward."""

    exchange: SimulatedExchange = field(default_factory=lambda: SimulatedExchange(SystemClock()))
    jumps: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])

    def at(self, machine_ms: int) -> int:
        """Return the exchange's time at a moment of the machine's."""
        return machine_ms + next(skew for since, skew in reversed(self.jumps) if machine_ms >= since)

    def machine_time(self, exchange_ms: int) -> int:
        """Return the machine's time at a moment of the exchange's."""
        return exchange_ms - next(skew for since, skew in reversed(self.jumps) if exchange_ms >= since + skew)

    def check_ticker(self, symbol: str, heard: GivenAnswer) -> None:
        said = heard.structure
        at_ms = self.said_moment(said["as_of"], heard)
        self._compare_day(symbol, at_ms, {theirs: Decimal(said[ours]) for ours, theirs in FIGURES.items()})

    def check_page(self, symbol: str, heard: GivenAnswer) -> None:
        found = re.search(r"\*Last updated: (\S+)\*", heard.text)
        last, count = (
            re.search(rf"\*\*{name}\*\*: \$?([\d,.]+)", heard.text) for name in ("Last Price", "Price Change Count")
        )
        if found is None or last is None or count is None:
            raise WrongAnswer(f"a page without its numbers: {heard.text[:300]}")
        shown = {"lastPrice": Decimal(last[1].replace(",", "")), "count": Decimal(count[1].replace(",", ""))}
        self._compare_day(symbol, self.said_moment(found[1], heard), shown)

    def check_book(self, symbol: str, heard: GivenAnswer) -> None:
        said = heard.structure
        levels = [[(Decimal(price), Decimal(size)) for price, size in said[side]] for side in ("bids", "asks")]
        self._compare_book(symbol, heard, levels)

    def check_depth(self, symbol: str, heard: GivenAnswer) -> None:
        said = heard.structure
        tick, lot = Decimal(said["price_scale"]), Decimal(said["qty_scale"])
        levels = [[(price * tick, size * lot) for price, size in said[side]] for side in ("bids", "asks")]
        # Old as of the last moment at which the exchange had this book.
        age_ms = heard.asked_ms - self.machine_time(self._compare_book(symbol, heard, levels))
        if said["age_ms"] < age_ms - TOLERANCE_MS:
            raise OlderThanSaid(f"{symbol}: {age_ms} ms old when it was asked for, and says {said['age_ms']} ms")

    def check_candles(self, symbol: str, heard: GivenAnswer) -> None:
        said = heard.structure
        at_ms, opening_ms = self.said_moment(said["as_of"], heard), moment(said["first_open_time"])
        rows = [[Decimal(part) for part in row.split(",")] for row in said["rows"]]
        for row in rows[:-1]:
            true = self._candle(symbol, opening_ms, opening_ms + 2 * MINUTE_MS)
            # Volumes are shown with five digits.
            if row != [exact.quantize(shown) for exact, shown in zip(true, row, strict=True)]:
                raise WrongAnswer(f"{symbol}: the candle of {opening_ms} is {true}, not {row}")
            opening_ms += MINUTE_MS
        # The volume of a candle only grows: it tells from when the row is.
        grown = rows[-1][-1]
        least = self._candle(symbol, opening_ms, at_ms - TOLERANCE_MS)[-1].quantize(grown)
        most = self._candle(symbol, opening_ms, self.at(heard.heard_ms) + TOLERANCE_MS)[-1].quantize(grown)
        if grown < least:
            raise OlderThanSaid(f"{symbol}: the open candle has {grown} and had {least} at {said['as_of']}")
        if grown > most:
            raise WrongAnswer(f"{symbol}: the open candle has {grown}, more than {most}")

    def check_account(self, number: int, heard: GivenAnswer) -> None:
        shown = f"{heard.text} {heard.structure}".replace(",", "")
        if watermark(number) not in shown:
            raise WrongAnswer(f"guest {number} does not see their own balance: {heard.text[:300]}")
        for other in range(GUESTS):
            if other != number and watermark(other) in shown:
                raise WrongAnswer(f"guest {number} sees the balance of guest {other}")

    def said_moment(self, written: str, heard: GivenAnswer) -> int:
        """Return the moment that an answer names, which must not be to come."""
        at_ms, now_ms = moment(written), self.at(heard.heard_ms)
        if at_ms > now_ms + TOLERANCE_MS:
            raise OlderThanSaid(f"as of {written}, which is {at_ms - now_ms} ms ahead of the exchange's clock")
        return at_ms

    def _compare_day(self, symbol: str, at_ms: int, shown: Mapping[str, Decimal]) -> None:
        true = day_figures(self.exchange, self.exchange.listing.symbols[symbol], at_ms)
        wrong = {name: (value, true[name]) for name, value in shown.items() if value != Decimal(str(true[name]))}
        if "count" in wrong and shown["count"] < Decimal(str(true["count"])):
            raise OlderThanSaid(f"{symbol} at {at_ms}: {wrong}")
        if wrong:
            raise WrongAnswer(f"{symbol} at {at_ms}: {wrong}")

    def _compare_book(self, symbol: str, heard: GivenAnswer, levels: Sequence[Side]) -> int:
        """Return when the exchange had another book than this one."""
        listed, market = self.exchange.listing.symbols[symbol], self.exchange.stage.market
        as_of_ms = self.said_moment(heard.structure["as_of"], heard)
        number, from_ms = heard.structure["last_update_id"], as_of_ms - OLDEST_MS
        span = range(from_ms, max(as_of_ms, self.at(heard.heard_ms)) + 10 * TOLERANCE_MS)
        first = from_ms + bisect_left(span, number, key=lambda at_ms: market.update_id(listed, at_ms))
        after = from_ms + bisect_left(span, number + 1, key=lambda at_ms: market.update_id(listed, at_ms))
        if first == after:
            raise WrongAnswer(f"{symbol}: the book never had the update id {number} around {as_of_ms}")
        if as_of_ms >= after + TOLERANCE_MS:
            raise OlderThanSaid(f"{symbol}: a book that was over {as_of_ms - after} ms before the moment it names")
        true = market.depth(listed, max(map(len, levels)), first)
        for side, shown in zip((true.bids, true.asks), levels, strict=True):
            expected = [(Decimal(listed.price(price)), Decimal(listed.quantity(lots))) for price, lots in side]
            if expected[: len(shown)] != list(shown):
                raise WrongAnswer(f"{symbol}: at {first} the book was {expected[:5]}, not {list(shown)[:5]}")
        return after

    def _candle(self, symbol: str, opening_ms: int, at_ms: int) -> list[Decimal]:
        asked = f"symbol={symbol}&interval=1m&startTime={opening_ms}&limit=1".encode()
        rows: Any = msgspec.json.decode(msgspec.json.encode(klines(Call(self.exchange, Params(asked), at_ms))))
        return [Decimal(part) for part in rows[0][1:6]] if rows else [Decimal(0)] * 5
