"""What the faults make of the events of one connection."""

from collections.abc import Callable

import msgspec

from mcp_binance_server.simulator.session import encoded
from mcp_binance_server.simulator.source import Event
from mcp_binance_server.simulator.stream_faults import StreamFaults, StreamKind

Frame = Callable[[str, str], str]  # the name of a stream and an event, in or without their envelope


class StreamSpoiler:
    """It remembers what it holds back, and how many ids a gap still lacks, for each stream."""

    def __init__(self, faults: StreamFaults) -> None:
        self._faults = faults
        self._held: dict[str, str] = {}
        self._gaps: dict[str, int] = {}

    def forget(self, name: str) -> None:
        """Drop what is remembered of a stream."""
        self._held.pop(name, None)
        self._gaps.pop(name, None)

    def spoil(self, name: str, event: Event, frame: Frame) -> tuple[list[str], StreamKind | None]:
        """Return the frames that arrive in place of an event, and the kind of fault that struck it."""
        missing = self._gaps.pop(name, 0)
        fault = None if missing else self._faults.take(name)
        kind = "gap" if missing else None if fault is None else fault.kind
        text = frame(name, event.text)
        if kind == "swap" and name not in self._held:
            self._held[name] = text
            return [], kind
        if kind == "gap":
            left = (missing or (1 if fault is None else fault.ids)) - event.ids
            if left > 0:
                self._gaps[name] = left
        if kind == "cut":
            return [], kind
        texts = [text]
        if kind in {"drop", "gap"}:
            texts = []
        elif kind == "duplicate":
            texts = [text, text]
        elif kind == "crossed":
            texts = [frame(name, _crossed(event.text))]
        elif kind == "malformed":
            texts = [text[: len(text) // 2]]
        held = self._held.pop(name, None)
        return texts if held is None else [*texts, held], kind


def _crossed(event: str) -> str:
    body = msgspec.json.decode(event, type=dict[str, object])
    return encoded(body | {"b": [("99999999.00000000", "1.00000000")]}) if "b" in body else event
