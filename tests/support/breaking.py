"""Messages of the exchange with one invalid value, and with numbers that appear nowhere else.

The types of all members are listed here independently of the product, so that a mistake in the product is not repeated.
Every mutant must be refused as a whole, so the mark in its other numbers must never be seen anywhere.
"""

from collections.abc import Callable, Mapping
from random import Random

import msgspec

from mcp_binance_server.charts.config import is_list, is_object

MARK = "3133731337"
MARKED = f"{MARK}.00000000"
BAD_TEXTS = (
    "", " ", "abc", "NaN", "-NaN", "sNaN123", "Infinity", "-Infinity", "1e5", "1E400", "1e-320", "0E-8", "1_000", "+1",
    ".5", "5.", "1.2.3", "1,000", "01", "000.0", "0x1F", " 1", "1 ", "1\n", "1\u200b", "\uff11", "\u0661", "-1.0\u0000",
    "9" * 300, "0." + "1" * 300, "9" * 5_000, "null", "1;2 3", "--1", "1-", "\u2212\u0031", "1/2", "\ud7ff",
)  # fmt: skip
BAD_VALUES: tuple[object, ...] = (None, True, 7, 1.5, -1, [], {}, ["1"], {"a": 1}, 10**18)
BAD_WHOLES: tuple[object, ...] = (None, True, "5", "", -1, 1.5, -(10**18), 2**63, 10**25, [], {}, "NaN")
BAD_FLAGS: tuple[object, ...] = (None, 0, 1, "true", "", [], {})
_NOTHING: dict[str, object] = {}
BAD_LEVELS: tuple[object, ...] = (
    None, 5, "1", {}, [5], [[1, 2]], [["1"]], [["1", "2", "3"]], [_NOTHING], [[["1", "2"]]], [None],
)  # fmt: skip

FUNDS = ("free", "locked")
MOST_ROWS = 30
# p price, q quantity or any decimal, i id or count, t time, b flag, l levels, n the name of the symbol, f the funds of
# an account, s the symbols of a list, o the order inside, a any symbol, d side, k kind of contract
Shape = Mapping[str, str]
EVENTS: dict[str, Shape] = {
    "depthUpdate": {"E": "t", "s": "n", "U": "i", "u": "i", "b": "l", "a": "l"},
    "aggTrade": {"s": "n", "a": "i", "p": "p", "q": "q", "f": "i", "l": "i", "T": "t", "m": "b"},
    "24hrTicker": {
        "s": "n", "p": "q", "P": "q", "w": "q", "c": "q", "b": "q", "a": "q", "o": "q", "h": "q", "l": "q", "v": "q",
        "q": "q", "O": "t", "C": "t", "n": "i",
    },
    "": {"u": "i", "s": "n", "b": "q", "B": "q", "a": "q", "A": "q"},
    "forceOrder": {"st": "k", "o": "o"},
    "markPriceUpdate": {"s": "a", "p": "p", "i": "q", "r": "q", "T": "t"},
}  # fmt: skip
FORCED: Shape = {"s": "a", "S": "d", "z": "p", "ap": "p", "T": "t"}
BAD_ORDERS: tuple[object, ...] = (None, 5, "x", [], _NOTHING, [_NOTHING])
ORDER: Shape = {
    "orderId": "i", "price": "q", "origQty": "q", "executedQty": "q", "cummulativeQuoteQty": "q", "time": "t",
    "updateTime": "t", "stopPrice": "q",
}  # fmt: skip
ANSWERS: dict[str, Shape] = {
    "ticker/24hr": {
        "priceChange": "q", "priceChangePercent": "q", "weightedAvgPrice": "q", "lastPrice": "q", "bidPrice": "q",
        "askPrice": "q", "openPrice": "q", "highPrice": "q", "lowPrice": "q", "volume": "q", "quoteVolume": "q",
        "openTime": "t", "closeTime": "t", "count": "i",
    },
    "ticker/price": {"price": "q"},
    "ticker/bookTicker": {"bidPrice": "q", "bidQty": "q", "askPrice": "q", "askQty": "q"},
    "avgPrice": {"mins": "i", "price": "q", "closeTime": "t"},
    "depth": {"lastUpdateId": "i", "bids": "l", "asks": "l"},
    "aggTrades": {"a": "i", "p": "p", "q": "q", "f": "i", "l": "i", "T": "t", "m": "b"},
    "klines": {"0": "t", "1": "p", "2": "p", "3": "p", "4": "p", "5": "q", "6": "t", "7": "q", "8": "i", "9": "q"},
    "account": {"canTrade": "b", "canWithdraw": "b", "canDeposit": "b", "updateTime": "t", "balances": "f"},
    "exchangeInfo": {"symbols": "s"},
    "openOrders": ORDER,
    "allOrders": ORDER,
    "order": ORDER,
    "myTrades": {
        "id": "i", "orderId": "i", "price": "q", "qty": "q", "quoteQty": "q", "commission": "q", "time": "t",
        "isBuyer": "b", "isMaker": "b",
    },
    "time": {"serverTime": "t"},
}  # fmt: skip
_BAD: dict[str, tuple[object, ...]] = {
    "p": (*BAD_TEXTS, *BAD_VALUES, "0", "-1", "-0.00"),
    "q": (*BAD_TEXTS, *BAD_VALUES),
    "i": BAD_WHOLES,
    "t": (*BAD_WHOLES, 10**16),
    "b": BAD_FLAGS,
    "n": ("", "ETHBTC", "btcusdt", "BTCUSDT\u200b", None, 5, [], {}),
    "a": ("", " ", "BTC USDT", "BTCUSDT\u200b", "A\nB", "../x", "_", "x" * 60, None, 5, [], {}),
    "d": ("", "sell", "LONG", "BUY ", None, 1, True, [], {}),
    "k": (None, "1", "", True, 1.5, -1, 0, 2, 10**25, [], {}),
}


class Breaker:
    """Makes mutants, the same in every run of a seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._bodies: dict[str, object] = {}

    def event(self, frame: bytes) -> bytes | None:
        """Return a frame of a market stream with a mutant of its event; None for one that carries no event."""
        told = msgspec.json.decode(frame)
        body = told.get("data") if is_object(told) else None
        if not is_object(told) or not is_object(body):
            return None
        shape = EVENTS.get(str(body.get("e", "")))
        if shape is None:
            return None
        written = self._bytes(lambda: {**told, "data": self._broken({**body}, shape)})
        return self._torn(written, b'"data":{')

    def _torn(self, written: bytes, opening: bytes) -> bytes:
        """Return a message that is sometimes not even text, or too deeply nested."""
        match self._random.randrange(50):
            case 0:
                return written.replace(b'":"', b'":"\xff')
            case 1:
                return written.replace(opening, opening + b'"x":' + b"[" * 3_000 + b"]" * 3_000 + b",", 1)
            case _:
                return written

    def marked_event(self, frame: bytes) -> bytes:
        """Return a frame with the mark in it and nothing wrong: that would be seen."""
        told = msgspec.json.decode(frame, type=dict[str, object])
        body = told["data"]
        assert is_object(body)
        return msgspec.json.encode({**told, "data": self._marked({**body}, EVENTS[str(body.get("e", ""))])})

    def answer(self, name: str, content: bytes) -> bytes | None:
        """Return a mutant of the answer to a call; None for a call that is not known here, or an empty answer."""
        shape = ANSWERS.get(name)
        if shape is None:
            return None
        if name not in self._bodies or self._bodies[name] in ([], {}):
            self._bodies[name] = _shortened(msgspec.json.decode(content), name)
        body = self._bodies[name]
        if body in ([], {}):
            return None
        return self._torn(self._bytes(lambda: self._answer(body, shape, is_rows=name == "klines")), b"{")

    def _answer(self, body: object, shape: Shape, *, is_rows: bool) -> object:
        if not is_list(body):
            return self._broken({**body}, shape) if is_object(body) else None
        rows: list[object] = [self._marked(_named(each), shape) for each in body]
        place = self._random.randrange(len(rows))
        rows[place] = self._broken(_named(body[place]), shape)
        return [list(_named(each).values()) for each in rows] if is_rows else rows

    def _broken(self, body: dict[str, object], shape: Shape) -> dict[str, object]:
        random, body = self._random, self._marked(body, shape)
        name = random.choice(list(shape))
        # A row of a table cannot lose a column and keep the others in place.
        if random.random() < 0.08 and not name.isdigit() and name not in {"closeTime", "stopPrice", "st"}:
            del body[name]
        elif shape[name] == "l":
            body[name] = self._bad_levels(body[name])
        elif shape[name] == "f":
            body[name] = self._bad_row(body[name], FUNDS, random.choice([*BAD_TEXTS, *BAD_VALUES]))
        elif shape[name] == "s":
            body[name] = self._bad_symbol(body[name])
        elif shape[name] == "o":
            order = body[name]
            whole = self._broken({**order}, FORCED) if is_object(order) else None
            body[name] = random.choice(BAD_ORDERS) if whole is None or random.random() < 0.1 else whole
        else:
            body[name] = random.choice(_BAD[shape[name]])
        return body

    def _bad_levels(self, levels: object) -> object:
        random = self._random
        if random.random() < 0.3 or not is_list(levels):
            return random.choice(BAD_LEVELS)
        bad = random.choice([*BAD_TEXTS, "-1", "-0.00"])
        level: list[object] = (
            [random.choice(["0", "0.00000000", bad]), "1.0"] if random.random() < 0.5 else ["1.0", bad]
        )
        place = random.randrange(len(levels) + 1)
        return [*levels[:place], level, *levels[place:]]

    def _bad_row(self, rows: object, names: tuple[str, ...], bad: object) -> object:
        assert is_list(rows)
        place = self._random.randrange(len(rows))
        broken = _named(rows[place]) | {self._random.choice(names): bad}
        return [*rows[:place], broken, *rows[place + 1 :]]

    def _bad_symbol(self, rows: object) -> object:
        """Break the rules of a symbol that no test uses. The other symbols must stay."""
        assert is_list(rows)
        place = self._random.randrange(1, len(rows))
        rules = {"filterType": "PRICE_FILTER", "minPrice": MARKED, "maxPrice": MARKED, "tickSize": MARKED}
        rules[self._random.choice(("minPrice", "maxPrice", "tickSize"))] = self._random.choice(BAD_TEXTS)
        return [*rows[:place], _named(rows[place]) | {"filters": [rules]}, *rows[place + 1 :]]

    def _marked(self, body: dict[str, object], shape: Shape) -> dict[str, object]:
        return {name: _mark(value, shape.get(name, "")) for name, value in body.items()}

    def _bytes(self, make: Callable[[], object]) -> bytes:
        return spoilt(msgspec.json.encode(make()), self._random)


def spoilt(written: bytes, random: Random) -> bytes:
    """Return a text that now and then is no JSON any more."""
    if random.random() < 0.85:
        return written
    match random.randrange(5):
        case 0:
            return written[: random.randrange(1, max(2, len(written)))]
        case 1:
            return b"\xff" + written
        case 2:
            return b"[" * 2_000 + written
        case 3:
            return written + b"}"
        case _:
            place = random.randrange(1, max(2, len(written)))
            return written[:place] + b"\x00" + written[place:]


def _shortened(body: object, name: str) -> object:
    if is_list(body):
        return body[-MOST_ROWS:]
    if is_object(body) and name == "depth":
        return {key: value[:MOST_ROWS] if is_list(value) else value for key, value in body.items()}
    return body


def _named(row: object) -> dict[str, object]:
    if is_object(row):
        return {**row}
    return {str(at): value for at, value in enumerate(row)} if is_list(row) else {}


def _mark(value: object, kind: str) -> object:
    if kind in {"p", "q"}:
        return MARKED
    if kind == "l" and is_list(value):
        return [[level[0], MARKED] for level in value if is_list(level)]
    if kind == "o" and is_object(value):
        return {name: _mark(each, FORCED.get(name, "")) for name, each in value.items()}
    if kind == "f" and is_list(value):
        return [_named(row) | dict.fromkeys(FUNDS, MARKED) for row in value]
    return value
