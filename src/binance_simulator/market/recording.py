"""Recorded streams in gzip files. A line is `<local time in ns> <combined frame or depth snapshot>`."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from binance_simulator.market.listing import Symbol

PATTERN = "*.gz"
NS_A_MS = 1_000_000
DECIMALS = 8


class Diff(msgspec.Struct):
    """One depth event. Its levels are parsed only when a book needs them."""

    event_ms: int = msgspec.field(name="E")
    first_id: int = msgspec.field(name="U")
    last_id: int = msgspec.field(name="u")
    bids: msgspec.Raw = msgspec.field(name="b")
    asks: msgspec.Raw = msgspec.field(name="a")


class Quote(msgspec.Struct):
    """One best bid and ask. This stream has no event time."""

    update_id: int = msgspec.field(name="u")
    bid: str = msgspec.field(name="b")
    bid_quantity: str = msgspec.field(name="B")
    ask: str = msgspec.field(name="a")
    ask_quantity: str = msgspec.field(name="A")


class Fill(msgspec.Struct):
    """One trade."""

    event_ms: int = msgspec.field(name="E")
    id: int = msgspec.field(name="t")
    price: str = msgspec.field(name="p")
    quantity: str = msgspec.field(name="q")
    time_ms: int = msgspec.field(name="T")
    buyer_is_maker: bool = msgspec.field(name="m")


class Snapshot(msgspec.Struct, rename="camel"):
    last_update_id: int
    bids: list[tuple[str, str]]
    asks: list[tuple[str, str]]


class Frame(msgspec.Struct):
    stream: str | None = None
    data: msgspec.Raw = msgspec.Raw()


@dataclass(slots=True)
class Recording:
    """Recorded data of one symbol. Each entry has its local arrival time in ms."""

    snapshot: Snapshot
    diffs: list[tuple[int, Diff]] = field(default_factory=list[tuple[int, Diff]])
    quotes: list[tuple[int, Quote]] = field(default_factory=list[tuple[int, Quote]])
    fills: list[tuple[int, Fill]] = field(default_factory=list[tuple[int, Fill]])


def read_recordings(folder: Path, symbols: Mapping[str, Symbol]) -> dict[str, Recording]:
    """Read all recordings in a folder. Files of one symbol are joined in the order of their names.

    Raises:
        ValueError: there is no recording, or one cannot be replayed.
    """
    recordings: dict[str, Recording] = {}
    for path in sorted(folder.glob(PATTERN)):
        try:
            _read(path, symbols, recordings)
        except (OSError, EOFError, msgspec.DecodeError) as error:
            raise ValueError(f"{path.name} is not a recording: {error}") from None
    if not recordings:
        raise ValueError(f"No recordings ({PATTERN}) in {folder}.")
    for name, recording in recordings.items():
        if not recording.diffs or not recording.snapshot.last_update_id:
            raise ValueError(f"The recording of {name} lacks depth events or a snapshot.")
    return recordings


def levels_of(symbol: Symbol, levels: list[tuple[str, str]]) -> dict[int, int]:
    """Return levels as ticks and lots.

    Raises:
        ValueError: a price is not a multiple of the tick, or a quantity not one of the lot.
    """
    return {whole(price, symbol.tick): whole(quantity, symbol.lot) for price, quantity in levels}


def whole(text: str, unit: int) -> int:
    """Convert a decimal text to a number of units.

    Raises:
        ValueError: the number is not whole.
    """
    before, _, after = text.partition(".")
    count, rest = divmod(int(before + after.ljust(DECIMALS, "0")), unit)
    if rest:
        raise ValueError(f"The recording has {text}, not a multiple of the symbol's tick or lot.")
    return count


def _read(path: Path, symbols: Mapping[str, Symbol], recordings: dict[str, Recording]) -> None:
    frames, diffs = msgspec.json.Decoder(Frame), msgspec.json.Decoder(Diff)
    quotes, fills = msgspec.json.Decoder(Quote), msgspec.json.Decoder(Fill)
    name, snapshot, recording = "", None, None
    with gzip.open(path) as lines:
        for line in lines:
            time_ns, _, text = line.partition(b" ")
            at_ms, frame = int(time_ns) // NS_A_MS, frames.decode(text)
            if frame.stream is None:
                snapshot = msgspec.json.decode(text, type=Snapshot)
                continue
            base, _, kind = frame.stream.partition("@")
            if recording is None:
                name = base.upper()
                if name not in symbols:
                    raise ValueError(f"{path.name} records {name}, which is not listed.")
                recording = recordings.setdefault(name, Recording(Snapshot(0, [], [])))
            if kind.startswith("depth"):
                recording.diffs.append((at_ms, diffs.decode(frame.data)))
            elif kind == "bookTicker":
                recording.quotes.append((at_ms, quotes.decode(frame.data)))
            elif kind == "trade":
                recording.fills.append((at_ms, fills.decode(frame.data)))
    if recording is not None and snapshot is not None:
        recording.snapshot = snapshot
