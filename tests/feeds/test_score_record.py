"""The record of a symbol's own past: what is written is read back, and nothing else is."""

import zlib
from array import array
from math import inf, nan
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.analytics.market.symbol_scores import VERSION
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.score_record import (
    AHEAD_MS,
    KEPT_MS,
    MOST_BYTES,
    MOST_SERIES,
    MOST_VALUES,
    RefusedRecord,
    ScoreRecord,
    Series,
    decode,
    encode,
    length,
)
from support.symbol_scores import BTC, MARKET

WRITTEN_MS = 1_784_592_123_456
HEAD = b"own past %d\n" % VERSION
SCORES = {"flood": array("d", [0.0, 1.5, 3.25]), "hidden_size": array("d", [4.0])}


def record(series: Series = SCORES, symbol: Symbol = BTC, market: str = MARKET) -> ScoreRecord:
    return ScoreRecord(market, symbol, WRITTEN_MS, series)


def read(data: bytes, now_ms: int = WRITTEN_MS) -> ScoreRecord | RefusedRecord:
    return decode(data, market=MARKET, symbol=BTC, now_ms=now_ms)


def reason(found: ScoreRecord | RefusedRecord) -> str:
    assert isinstance(found, RefusedRecord)
    return found.reason


def packed(body: object) -> bytes:
    return HEAD + zlib.compress(msgspec.msgpack.encode(body))


def test_a_record_is_read_back_to_the_last_digit() -> None:
    random = Random(7)
    series = {f"judgement {each}": array("d", [random.lognormvariate(0, 2) for _ in range(480)]) for each in range(15)}

    data = encode(record(series))

    assert read(data) == record(series)
    assert length(series) == 7_200
    assert len(data) < 64 * 1024


def test_a_record_is_good_for_a_week_and_for_a_clock_that_was_set_back_an_hour() -> None:
    data = encode(record())

    assert isinstance(read(data, WRITTEN_MS + KEPT_MS - 1), ScoreRecord)
    assert isinstance(read(data, WRITTEN_MS - AHEAD_MS), ScoreRecord)
    assert "week" in reason(read(data, WRITTEN_MS + KEPT_MS))
    assert "from the future" in reason(read(data, WRITTEN_MS - AHEAD_MS - 1))


@pytest.mark.parametrize("other", [record(symbol=Symbol("ETHUSDT")), record(market="wss://testnet.test")])
def test_a_record_of_another_symbol_or_market_is_refused(other: ScoreRecord) -> None:
    assert "another symbol" in reason(read(encode(other)))


def test_a_record_of_another_version_is_refused() -> None:
    data = encode(record()).replace(HEAD, b"own past %d\n" % (VERSION + 1))

    assert "version" in reason(read(data))


@pytest.mark.parametrize("end", range(len(encode(record()))))
def test_a_record_that_was_cut_off_is_refused(end: int) -> None:
    assert isinstance(read(encode(record())[:end]), RefusedRecord)


@pytest.mark.parametrize("place", range(len(encode(record()))))
def test_a_byte_that_is_not_as_it_was_written_is_noticed(place: int) -> None:
    data = bytearray(encode(record()))
    data[place] ^= 0x41

    assert isinstance(read(bytes(data)), RefusedRecord)


@given(st.binary(max_size=300))
def test_no_bytes_at_all_end_in_an_error(data: bytes) -> None:
    assert isinstance(read(data), RefusedRecord)
    assert isinstance(read(HEAD + data), RefusedRecord)
    assert isinstance(read(HEAD + zlib.compress(data)), RefusedRecord)


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"market": MARKET},
        [MARKET, BTC, -1, {}],
        [MARKET, BTC, WRITTEN_MS, {"flood": ["1.0"]}],
        [MARKET, BTC, WRITTEN_MS, {"": [1.0]}],
        [MARKET, BTC, WRITTEN_MS, {"n" * 65: [1.0]}],
        [MARKET, BTC, WRITTEN_MS, {"flood": [1.0] * (MOST_VALUES + 1)}],
        [MARKET, BTC, WRITTEN_MS, {str(each): [1.0] for each in range(MOST_SERIES + 1)}],
        [MARKET, BTC, WRITTEN_MS, {"flood": [1.0, nan]}],
        [MARKET, BTC, WRITTEN_MS, {"flood": [-inf]}],
        [MARKET, BTC, WRITTEN_MS, {"flood": [1e39]}],
    ],
)
def test_what_is_no_past_is_refused(body: object) -> None:
    assert isinstance(read(packed(body)), RefusedRecord)


@pytest.mark.night
@pytest.mark.slow
def test_a_record_that_unpacks_to_far_more_than_a_past_is_refused_unread() -> None:
    assert "too long" in reason(read(HEAD + zlib.compress(bytes(64 * 1024 * 1024))))
    assert "version" in reason(read(HEAD + bytes(MOST_BYTES)))
    assert "too long" in reason(read(encode(record()) + b"and more"))


@pytest.mark.parametrize(
    "series",
    [
        {"flood": array("d", [nan])},
        {"flood": array("d", [1.0] * (MOST_VALUES + 1))},
        {str(each): array("d") for each in range(MOST_SERIES + 1)},
    ],
)
def test_what_would_be_refused_is_not_written(series: Series) -> None:
    with pytest.raises(ValueError, match="the past values of BTCUSDT cannot be stored"):
        encode(record(series))
