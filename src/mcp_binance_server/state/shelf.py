"""Values that may be lost but must not pile up: each has its time, and all of them together have so many bytes."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class _Shelved:
    value: bytes = field(repr=False)
    until_ms: float


class Shelf:
    """What one process keeps in one place; the caller brings the time, which must not run backwards."""

    def __init__(self) -> None:
        self._held: dict[str, _Shelved] = {}
        self._bytes = 0

    def put(self, key: str, value: bytes, *, until_ms: float, most_bytes: int, now_ms: float) -> None:
        self._drop(key)
        self._held[key] = _Shelved(value, until_ms)
        self._bytes += len(value)
        self._make_room(most_bytes, now_ms)

    def get(self, key: str, now_ms: float) -> bytes | None:
        held = self._held.get(key)
        return held.value if held is not None and held.until_ms > now_ms else None

    def _make_room(self, most_bytes: int, now_ms: float) -> None:
        for key, held in sorted(self._held.items(), key=lambda item: (item[1].until_ms, item[0])):
            if held.until_ms > now_ms and self._bytes <= most_bytes:
                return
            self._drop(key)

    def _drop(self, key: str) -> None:
        if held := self._held.pop(key, None):
            self._bytes -= len(held.value)
