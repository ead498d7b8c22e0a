"""Results of work whose inputs do not change any more."""

from collections.abc import Hashable
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class Kept(Generic[ValueT]):
    """The newest results, at most so many; the oldest makes room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Hashable, ValueT] = {}

    def get(self, key: Hashable) -> ValueT | None:
        return self._values.get(key)

    def keep(self, key: Hashable, value: ValueT) -> ValueT:
        self._values[key] = value
        while len(self._values) > self._most:
            del self._values[next(iter(self._values))]
        return value
