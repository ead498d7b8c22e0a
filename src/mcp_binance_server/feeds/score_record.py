"""Binary record of a symbol's score history. New minutes are compared with it after a restart."""

import zlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec

from mcp_binance_server.analytics.market.symbol_scores import VERSION
from mcp_binance_server.domain.symbols import Symbol

_HEAD = b"own past %d\n" % VERSION

KEPT_MS = 7 * 24 * 60 * 60 * 1000
# Accept a record from the near future: the clock may have been set back.
AHEAD_MS = 60 * 60 * 1000
# Far above the real size: about thirty series, each with a day of minutes or an hour of seconds.
MOST_SERIES, MOST_VALUES = 64, 8_192
MOST_BYTES = 512 * 1024
_MOST_UNPACKED = 1024 * 1024
_LARGEST = 1e38

Series = Mapping[str, "array[float]"]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
_Values = Annotated[list[float], msgspec.Meta(max_length=MOST_VALUES)]


class _Body(msgspec.Struct, array_like=True, frozen=True):
    market: str
    symbol: str
    written_ms: Annotated[int, msgspec.Meta(ge=0)]
    series: Annotated[dict[_Name, _Values], msgspec.Meta(max_length=MOST_SERIES)]


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """Score series of one symbol by name, oldest first, with the market and the time of writing."""

    market: str
    symbol: Symbol
    written_ms: int
    series: Series


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """The reason why a stored record was refused."""

    reason: str


def length(series: Series) -> int:
    """Return the number of values in all series."""
    return sum(map(len, series.values()))


def encode(record: ScoreRecord) -> bytes:
    """Encode a record.

    Raises:
        ValueError: `decode` would refuse the record.
    """
    series = {name: values.tolist() for name, values in record.series.items()}
    if (reason := _misfit(series)) is not None:
        raise ValueError(f"the past values of {record.symbol} cannot be stored: {reason}")
    body = _Body(record.market, record.symbol, record.written_ms, series)
    return _HEAD + zlib.compress(msgspec.msgpack.encode(body))


def decode(data: bytes, *, market: str, symbol: Symbol, now_ms: int) -> ScoreRecord | RefusedRecord:
    """Decode a record. Refuse another market, symbol or version, and old or damaged data."""
    body = _unpacked(data)
    if isinstance(body, RefusedRecord):
        return body
    if (body.market, body.symbol) != (market, symbol):
        return RefusedRecord("it belongs to another symbol")
    if not -AHEAD_MS <= now_ms - body.written_ms < KEPT_MS:
        return RefusedRecord("it is more than a week old, or from the future")
    if (reason := _misfit(body.series)) is not None:
        return RefusedRecord(reason)
    series = {name: array("d", values) for name, values in body.series.items()}
    return ScoreRecord(market, symbol, body.written_ms, series)


def _unpacked(data: bytes) -> _Body | RefusedRecord:
    if len(data) > MOST_BYTES or not data.startswith(_HEAD):
        return RefusedRecord("it is not a record of this version")
    packed = zlib.decompressobj()
    try:
        body = packed.decompress(data[len(_HEAD) :], _MOST_UNPACKED)
        if not packed.eof or packed.unused_data:
            return RefusedRecord("it is cut off, or too long")
        return msgspec.msgpack.decode(body, type=_Body)
    except (zlib.error, ValueError, RecursionError):
        return RefusedRecord("it is damaged")


def _misfit(series: Mapping[str, list[float]]) -> str | None:
    if len(series) > MOST_SERIES or any(len(values) > MOST_VALUES for values in series.values()):
        return "it is too long"
    # Refuse NaN, because ranks among such values would be wrong. Larger values do not fit the single precision of some
    # series.
    if not all(-_LARGEST < value < _LARGEST for values in series.values() for value in values):
        return "a score is not a number, or out of range"
    return None
