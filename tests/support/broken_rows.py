"""Answers about all symbols or many hours, with invalid rows.

Exactly these rows must be dropped. As in `breaking`, the types are listed independently of the product, and every
broken row contains the mark.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random

import msgspec

from mcp_binance_server.charts.config import is_list, is_object
from support.breaking import BAD_TEXTS, BAD_VALUES, BAD_WHOLES, MARKED, spoilt

MOST_BROKEN = 3
# p above zero, u zero or more, q any decimal, f any decimal or none, i count, t time, h hours, w time or its text,
# n the name of a symbol
Shape = Mapping[str, str]
SHARES: Shape = {"longAccount": "u", "longShortRatio": "u", "timestamp": "w"}
DAYS: Shape = {
    "symbol": "n", "lastPrice": "u", "openPrice": "u", "highPrice": "u", "lowPrice": "u", "priceChangePercent": "q",
    "quoteVolume": "u", "count": "i", "closeTime": "t",
}  # fmt: skip
ROWS: dict[str, Shape] = {
    "/api/v3/ticker/24hr": DAYS | {"bidPrice": "u", "askPrice": "u"},
    "/fapi/v1/ticker/24hr": DAYS,
    "/fapi/v1/premiumIndex": {
        "symbol": "n", "markPrice": "p", "indexPrice": "u", "time": "t", "lastFundingRate": "f", "nextFundingTime": "t",
    },
    "/fapi/v1/ticker/bookTicker": {"symbol": "n", "bidPrice": "u", "askPrice": "u", "time": "t"},
    "/fapi/v1/fundingInfo": {
        "symbol": "n", "fundingIntervalHours": "h", "adjustedFundingRateCap": "q", "adjustedFundingRateFloor": "q",
    },
    "/fapi/v1/fundingRate": {"fundingTime": "w", "fundingRate": "q"},
    "/futures/data/openInterestHist": {"timestamp": "w", "sumOpenInterest": "u", "sumOpenInterestValue": "u"},
    "/futures/data/globalLongShortAccountRatio": SHARES,
    "/futures/data/topLongShortAccountRatio": SHARES,
    "/futures/data/topLongShortPositionRatio": SHARES,
    "/futures/data/takerlongshortRatio": {"buyVol": "u", "sellVol": "u", "timestamp": "w"},
    "/futures/data/basis": {"futuresPrice": "p", "indexPrice": "p", "timestamp": "w"},
}  # fmt: skip
# One contract alone, or a list that is read as a whole: these are refused with everything in them.
SINGLES: dict[str, Shape] = {
    **{path: ROWS[path] for path in ("/fapi/v1/premiumIndex", "/fapi/v1/ticker/bookTicker")},
    "/fapi/v1/openInterest": {"symbol": "n", "openInterest": "u", "time": "t"},
}
CONTRACTS = "/fapi/v1/exchangeInfo"
# These may be missing: a delivery contract has no funding.
MAY_LACK = {"lastFundingRate", "nextFundingTime", "time"}
PAIRS = (("lowPrice", "highPrice"), ("bidPrice", "askPrice"))
_NOTHING: dict[str, object] = {}
BAD_NAMES: tuple[object, ...] = (
    "",
    " ",
    "BTC USDT",
    "BTCUSDT\u200b",
    "A\nB",
    "../x",
    "_",
    "x" * 60,
    "<b>",
    None,
    5,
    True,
    [],
    {},
    ["A"],
)
BAD_ROWS: tuple[object, ...] = (None, True, 5, "row", [], [None], _NOTHING, {"symbol": "BTCUSDT"}, {"timestamp": 1})
_NEGATIVE = ("-1", "-0.00", "-0")
_STAMPS = (*(each for each in BAD_WHOLES if each != "5"), "-1", "1.5", "1e5", " 5", "5 ", "9" * 15, "1" * 16, "\u0661")
_BAD: dict[str, tuple[object, ...]] = {
    "p": (*BAD_TEXTS, *BAD_VALUES, *_NEGATIVE, "0", "0.00000000"),
    "u": (*BAD_TEXTS, *BAD_VALUES, *_NEGATIVE),
    "q": (*BAD_TEXTS, *BAD_VALUES),
    "f": (*filter(None, BAD_TEXTS), *BAD_VALUES),
    "i": BAD_WHOLES,
    "t": (*BAD_WHOLES, 10**16),
    "h": (*BAD_WHOLES, 0, 25, 10**9),
    "w": (*_STAMPS, 10**16),
    "n": BAD_NAMES,
}

_MOST = "99999999999999999.9999999999"
_LAST_MS = 253_402_300_799_999
# What can be written, and what no market has.
_EDGES: dict[str, tuple[object, ...]] = {
    "p": (_MOST, "0.0000000001", "1"),
    "u": (_MOST, "0", "0.00000000", "0.0000000001"),
    "q": (_MOST, f"-{_MOST}", "0", "-0.0000000001"),
    "f": ("", _MOST, f"-{_MOST}", "0"),
    "i": (0, 2**63 - 1),
    "t": (0, 1, _LAST_MS),
    "h": (1, 24),
    "w": (0, "0", "9" * 14, _LAST_MS, "1"),
    "n": ("BTCUSDT", "A", "Z" * 40, "\u00c4\u00d6", "BTCUSDT-1", "1"),
}


class RowBreaker:
    """Breaks a few rows of an answer, the same in every run of a seed; says which."""

    def __init__(self, seed: object) -> None:
        self._random = Random(f"rows-{seed}")

    def mutant(self, path: str, content: bytes) -> bytes | None:
        """Return an answer of which something must not be seen, or nothing, or at the edge; None for unknown calls."""
        if path not in ROWS and path not in SINGLES and path != CONTRACTS:
            return None
        if self._random.random() < 0.2:
            return self.at_the_edge(path, content)
        broken = self.broken(path, content)
        made = self.single(path, content) if broken is None else broken[0]
        return None if made is None else spoilt(made, self._random)

    def broken(self, path: str, content: bytes) -> tuple[bytes, bytes, int] | None:
        """Return an answer with broken rows, the same answer without them, and how many they are.

        None for an answer that has no rows to break.
        """
        body = msgspec.json.decode(content)
        if path == CONTRACTS and is_object(body):
            rows = body["symbols"]
            assert is_list(rows)
            made, kept, count = self._rows(rows, self._contract)
            whole, less = {**body, "symbols": made}, {**body, "symbols": kept}
            return msgspec.json.encode(whole), msgspec.json.encode(less), count
        shape = ROWS.get(path)
        if shape is None or not is_list(body) or not body:
            return None
        made, kept, count = self._rows(body, lambda row: self._row(row, shape))
        return msgspec.json.encode(made), msgspec.json.encode(kept), count

    def single(self, path: str, content: bytes) -> bytes | None:
        """Return a broken answer about one contract; None where it is about several."""
        body, shape = msgspec.json.decode(content), SINGLES.get(path)
        if shape is None or not is_object(body):
            return None
        return msgspec.json.encode(self._row({**body}, {**shape, "symbol": "n"}))

    def at_the_edge(self, path: str, content: bytes) -> bytes:
        """Return an answer in which everything can be read, and which no market has ever given."""
        body, shape, random = msgspec.json.decode(content), ROWS.get(path) or SINGLES.get(path), self._random
        how_many, how_much = random.choice((0.2, 0.2, 1.0)), random.choice((0.3, 1.0))
        if shape is None:
            return content

        def moved(row: object) -> object:
            if not is_object(row) or random.random() > how_many:
                return row
            edges = {
                name: random.choice(_EDGES[kind])
                for name, kind in shape.items()
                # Without its name a row is not found.
                if name in row and random.random() < (0.1 if kind == "n" else how_much)
            }
            return {**row, **edges}

        return msgspec.json.encode([*map(moved, body)] if is_list(body) else moved(body))

    def _rows(
        self, rows: Sequence[object], broken: Callable[[object], object]
    ) -> tuple[list[object], list[object], int]:
        places = {*self._random.sample(range(len(rows)), min(self._random.randint(1, MOST_BROKEN), len(rows)))}
        made = [broken(row) if place in places else row for place, row in enumerate(rows)]
        return made, [row for place, row in enumerate(rows) if place not in places], len(places)

    def _row(self, row: object, shape: Shape) -> object:
        random = self._random
        if random.random() < 0.1 or not is_object(row):
            return random.choice(BAD_ROWS)
        body = {name: MARKED if shape.get(name) in {"p", "u", "q"} else value for name, value in row.items()}
        crossed = [pair for pair in PAIRS if pair[0] in shape]
        if crossed and random.random() < 0.1:
            lower, upper = random.choice(crossed)
            return body | {lower: "2.5", upper: "2.4"}
        name = random.choice(list(shape))
        if name not in MAY_LACK and random.random() < 0.1:
            del body[name]
            return body
        return {**body, name: random.choice(_BAD[shape[name]])}

    def _contract(self, row: object) -> object:
        """Break the rules or the dates of a contract."""
        random = self._random
        if random.random() < 0.1 or not is_object(row):
            return random.choice(BAD_ROWS)
        rules = {"filterType": "PRICE_FILTER", "tickSize": random.choice([*BAD_TEXTS, *BAD_VALUES, *_NEGATIVE])}
        ways: tuple[dict[str, object], ...] = (
            {"filters": [rules]},
            {"filters": random.choice([None, 5, "x", {}, [5], [None]])},
            {"symbol": random.choice(BAD_NAMES)},
            {"pair": random.choice(BAD_NAMES)},
            {"onboardDate": random.choice(_BAD["t"])},
            {"deliveryDate": random.choice(_BAD["t"])},
            {"contractType": random.choice([None, 5, [], {}])},
            {"status": random.choice([None, 5, [], {}])},
        )
        return {**row, **random.choice(ways)}
