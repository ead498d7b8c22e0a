"""Concurrent reads with partial failure. A page is still useful if some of its parts are missing."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

import anyio

from mcp_binance_server.errors import AppError, RateLimited

ValueT = TypeVar("ValueT")
OneT = TypeVar("OneT")
TwoT = TypeVar("TwoT")
ThreeT = TypeVar("ThreeT")
FourT = TypeVar("FourT")
FiveT = TypeVar("FiveT")
Read = Callable[[], Awaitable[ValueT]]


@dataclass(frozen=True, slots=True)
class Part(Generic[ValueT]):
    """A part of a page: its value, or its error."""

    value: ValueT | None
    failure: AppError | None = None

    def required(self) -> ValueT:
        """Return the value, or raise the part's error. Use it for a part that the page requires."""
        if self.value is None:
            raise self.failure or AssertionError("a read that neither failed nor answered")
        return self.value


@overload
async def gather(one: Read[OneT], two: Read[TwoT], /) -> tuple[Part[OneT], Part[TwoT]]: ...
@overload
async def gather(
    one: Read[OneT], two: Read[TwoT], three: Read[ThreeT], /
) -> tuple[Part[OneT], Part[TwoT], Part[ThreeT]]: ...
@overload
async def gather(
    one: Read[OneT], two: Read[TwoT], three: Read[ThreeT], four: Read[FourT], /
) -> tuple[Part[OneT], Part[TwoT], Part[ThreeT], Part[FourT]]: ...
@overload
async def gather(
    one: Read[OneT], two: Read[TwoT], three: Read[ThreeT], four: Read[FourT], five: Read[FiveT], /
) -> tuple[Part[OneT], Part[TwoT], Part[ThreeT], Part[FourT], Part[FiveT]]: ...
@overload
async def gather(*reads: Read[ValueT]) -> tuple[Part[ValueT], ...]: ...
async def gather(*reads: Read[Any]) -> tuple[Part[Any], ...]:
    """Run reads concurrently and return the value or the failure of each.

    Raises:
        RateLimited: a read hit the rate limit; a partial page would only cause more requests.
    """
    parts: list[Part[Any]] = [Part(None)] * len(reads)

    async def run(place: int, read: Read[Any]) -> None:
        try:
            parts[place] = Part(await read())
        except AppError as error:
            parts[place] = Part(None, error)

    async with anyio.create_task_group() as group:
        for place, read in enumerate(reads):
            group.start_soon(run, place, read)
    for part in parts:
        if isinstance(part.failure, RateLimited):
            raise part.failure
    return tuple(parts)


async def gather_in_turns(reads: Sequence[Read[ValueT]], *, at_once: int) -> list[Part[ValueT]]:
    """Run many reads in batches of `at_once`.

    In one large batch, waiting for a free connection would use up a read's deadline.

    Raises:
        RateLimited: as in `gather`; later batches are not sent.
    """
    parts: list[Part[ValueT]] = []
    for start in range(0, len(reads), at_once):
        parts += await gather(*reads[start : start + at_once])
    return parts
