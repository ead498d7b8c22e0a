"""Captured answers: each file of tests/data/captured goes through the parser of its endpoint."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from mcp_binance_server.exchange.futures.endpoints import FUTURES_CALLS
from mcp_binance_server.exchange.spot.endpoints import ENDPOINTS
from support.captured.doors import DOORS, STREAMS, differences, event_differences
from support.captured.files import FOLDER, SUFFIX, CapturedFile, files
from support.captured.replay import read_answer, read_event, with_unknown_members, with_unknown_words
from support.fixtures import BESIDE, FOREIGN_PAYLOADS, needs

FILES = files()
EVERY = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)).removesuffix(SUFFIX))
# A stream of which no event comes by itself, and what only an order brings about.
WITHOUT_FILE = frozenset({"stream.liquidation"})


async def found(name: str, params: Mapping[str, str | int], body: bytes) -> list[str]:
    """Return what is read otherwise than it is written."""
    if name in STREAMS:
        return [*event_differences(read_event(name, body), json.loads(body))]
    return [*differences(await read_answer(name, params, body), json.loads(body))]


@EVERY
async def test_every_value_is_read_as_it_is_written(path: Path) -> None:
    captured = CapturedFile.read(path)

    for answer in captured.answers:
        assert await found(captured.header.name, answer.params, bytes(answer.body)) == []
    assert captured.answers


@EVERY
async def test_a_member_that_is_not_known_changes_nothing(path: Path) -> None:
    captured = CapturedFile.read(path)
    answer = captured.answers[0]

    grown = msgspec.json.encode(with_unknown_members(json.loads(bytes(answer.body))))

    assert await found(captured.header.name, answer.params, grown) == []


@EVERY
async def test_a_word_that_is_not_known_breaks_nothing(path: Path) -> None:
    captured = CapturedFile.read(path)
    answer = captured.answers[0]

    changed = msgspec.json.encode(with_unknown_words(json.loads(bytes(answer.body))))

    assert await found(captured.header.name, answer.params, changed) == []


@EVERY
def test_a_file_says_where_it_is_from(path: Path) -> None:
    header = CapturedFile.read(path).header

    assert path == FOLDER / header.network / f"{header.name}{SUFFIX}"
    assert header.sanitised
    assert header.source
    assert len(header.captured) in (len("2026-07"), len("2026-07-21"))
    assert header.name in DOORS or header.name in STREAMS


def test_every_read_has_a_parser_here() -> None:
    asked = {door.call.path for door in DOORS.values()}
    listed = {call.path for call in (*ENDPOINTS, *FUTURES_CALLS)}

    # The servers' times are read with the clock, not by themselves.
    assert listed - asked == {"/fapi/v1/time"}


def test_every_parser_has_an_answer() -> None:
    named = {path.name.removesuffix(SUFFIX) for path in FILES}

    assert {*DOORS, *STREAMS} - named == WITHOUT_FILE


async def test_a_digit_that_is_lost_is_found() -> None:
    body = b'{"symbol":"BTCUSDT","bidPrice":"1.10","bidQty":"2","askPrice":"1.20","askQty":"3"}'
    read = await read_answer("spot.quote", {"symbol": "BTCUSDT"}, body)

    told = [*differences(read, {**json.loads(body), "bidPrice": "1.1", "askQty": "4"})]

    assert [line.partition(":")[0] for line in told] == [".bid", ".ask_quantity"]


# Lines whose authors left out members that the exchange always sends; in line 149 of the first more was traded than
# executed.
STRIPPED = {
    "nautilus": {51, 52, 53, 54, 55, 149},
    "official_sdk": {374, 375, 480, 481, 482, 519, 520, 521},
}
READ_AT_LEAST = {"cryptofeed": 746, "docs": 20, "nautilus": 45, "official_sdk": 50}
EVENTS = {
    "depthUpdate": "stream.depth",
    "aggTrade": "stream.trade",
    "24hrTicker": "stream.ticker",
    "executionReport": "user.execution_report",
    "forceOrder": "stream.liquidation",
}
FOREIGN = BESIDE / "data" / "payloads"
# Members that tell the answer of an endpoint from all others, its parser, and what the request named.
SHAPES: Sequence[tuple[frozenset[str], bool, str]] = (
    (frozenset({"lastUpdateId", "bids", "asks"}), False, "spot.depth"),
    (frozenset({"mins", "price"}), False, "spot.average_price"),
    (frozenset({"lastPrice", "weightedAvgPrice", "bidPrice", "askPrice"}), False, "spot.ticker"),
    (frozenset({"symbol", "bidPrice", "bidQty", "askPrice"}), False, "spot.quote"),
    (frozenset({"markPrice", "indexPrice", "lastFundingRate"}), True, "futures.premium"),
    (frozenset({"openInterest", "symbol", "time"}), True, "futures.open_interest"),
    (frozenset({"symbol", "bidPrice", "bidQty", "askPrice"}), True, "futures.quote"),
    (frozenset({"a", "p", "q", "f", "l", "T", "m"}), False, "[spot.aggregate_trades"),
    (frozenset({"fundingTime", "fundingRate"}), True, "[futures.funding_payments"),
    (frozenset({"sumOpenInterest", "timestamp"}), True, "[futures.interest_hours"),
    (frozenset({"longAccount", "longShortRatio", "timestamp"}), True, "[futures.accounts_all"),
    (frozenset({"buyVol", "sellVol", "timestamp"}), True, "[futures.taker_hours"),
    (frozenset({"isBuyer", "isMaker", "isBestMatch", "quoteQty"}), False, "[spot.fills"),
    (frozenset({"cummulativeQuoteQty", "workingTime", "updateTime", "time"}), False, "[spot.order_history"),
    (frozenset({"cummulativeQuoteQty", "updateTime", "time", "timeInForce"}), False, "spot.order"),
    (frozenset({"balances", "canTrade", "updateTime"}), False, "spot.account"),
)


def unwrapped(payload: Any) -> Any:  # noqa: ANN401 - JSON
    """Return an event without the frame that it came in."""
    if not isinstance(payload, dict):
        return payload
    members = cast("dict[str, Any]", payload)
    return next((members[name] for name in ("data", "event", "result") if members.get(name)), members)


def parser_of(payload: Any, *, is_futures: bool) -> str:  # noqa: ANN401 - JSON
    """Return the name of the parser of a payload; empty if we read none such."""
    rows = isinstance(payload, list)
    first: Any = payload[0] if rows and payload else payload  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(first, dict):
        return ""
    first = cast("dict[str, Any]", first)
    if isinstance(kind := first.get("e"), str) and not rows:
        return EVENTS.get(kind, "") if not is_futures or kind == "forceOrder" else ""
    if not is_futures and not rows and {"u", "s", "b", "B", "a", "A"} == first.keys():
        return "stream.quote"
    for members, of_futures, name in SHAPES:
        if of_futures == is_futures and members <= first.keys() and name.startswith("[") == rows and "e" not in first:
            return name.lstrip("[")
    return ""


@needs(FOREIGN_PAYLOADS)
@pytest.mark.parametrize("source", ["cryptofeed", "docs", "nautilus", "official_sdk"])
async def test_payloads_of_others_are_read_as_they_are_written(source: str) -> None:
    read, told = Counter[str](), list[str]()

    with gzip.open(FOREIGN / f"{source}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            payload = unwrapped(row["payload"])
            name = parser_of(payload, is_futures=row["futures"])
            if not name or number in STRIPPED.get(source, ()):
                continue
            params = {"symbol": "BTCUSDT", "origClientOrderId": "x", "pair": "BTCUSDT"}
            try:
                problems = await found(name, params, msgspec.json.encode(payload))
            except Exception as error:  # noqa: BLE001 - each is counted with its line
                problems = [f"{type(error).__name__}: {error}"]
            told += [f"{number} {name}: {problem}" for problem in problems]
            read[name] += 1

    assert told == []
    assert sum(read.values()) >= READ_AT_LEAST[source]
