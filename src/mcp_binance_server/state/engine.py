"""The state engine: what the server keeps between calls, and what every implementation guarantees.

A docstring here is a promise, and the contract tests in tests/state hold each engine to it. Times to live are counted
by the engine's own clock, never by a caller's. Something is gone at its ttl, not one millisecond later. A failure to
reach the engine is `EngineUnavailable` within a second, whatever the call. Wrong arguments are a `ValueError`: a value
over 512 KiB (2 MiB on a shelf, and for a snapshot), a ttl below 1 ms, a negative cost.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol

from mcp_binance_server.state.claims import AccountBook, AccountStop, Claim, ClaimNews, ClaimRoom, Reservation
from mcp_binance_server.state.logs import LogMark, LogPart

MAX_VALUE_BYTES = 512 * 1024
MAX_SHELVED_BYTES = 2 * 1024 * 1024

CallKind = Literal["order", "private", "public"]
Refusal = Literal["", "budget", "share", "stopped", "forgotten"]


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one owner to write under a name; `token` is a number that rises with every new holder."""

    name: str
    owner: str
    token: str
    ttl_ms: int


class Fenced(Enum):
    """What became of a fenced write."""

    WRITTEN = "written"
    STALE = "stale"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer to a call that wants to spend weight; true when it may go.

    `used` is the count of the minute that decided. `retry_ms` is 0 when granted; after waiting exactly that long, the
    minute or the stop that refused no longer counts.

    `forgotten` means that the engine was emptied and does not know what the minute has cost. One caller a second gets
    it with a `retry_ms` of 0: that one asks the exchange for its count and tells it by `recall_weight`. The others ask
    again after `retry_ms`, or sooner.

    `share` means that the party has spent `own` of this minute, where it could count on `share`, and that what is left
    is kept for others.
    """

    granted: bool
    reason: Refusal
    used: int
    retry_ms: int
    share: int = 0
    own: int = 0
    is_local: bool = False
    """Whether the engine was away, and this process spent what it had been promised for that."""

    def __bool__(self) -> bool:
        return self.granted


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer to one who wants a place; `count` is how many are inside, `retry_ms` when the next place can free.

    `gave_way` is the member that had to give up its place for this one; mostly nobody. Where places are shared out,
    `own` is how many the party had, and one that is refused although there are some could count on `share`.
    """

    admitted: bool
    count: int
    retry_ms: int
    gave_way: str = ""
    own: int = 0
    share: int = 0


@dataclass(frozen=True, slots=True)
class Reserves:
    """What lower classes of calls must leave to higher ones, in percent of the ceiling.

    Cancels are orders. A server that only reads sets `order_percent=0`; one without credentials takes `none()`.
    """

    order_percent: int = 20
    private_percent: int = 50

    def __post_init__(self) -> None:
        if min(self.order_percent, self.private_percent) < 0 or self.order_percent + self.private_percent > 100:
            raise ValueError(f"reserves must be at least 0 and together at most 100 percent: {self}")

    @classmethod
    def none(cls) -> "Reserves":
        """Keep nothing back: without credentials every call is public, so public calls may use the whole ceiling."""
        return cls(order_percent=0, private_percent=0)


def check_ttl(ttl_ms: int) -> None:
    """Refuse a ttl that no engine can count.

    Raises:
        ValueError: it is below a millisecond.
    """
    if ttl_ms < 1:
        raise ValueError(f"a ttl is at least 1 ms: {ttl_ms}")


def check_size(value: bytes, most: int = MAX_VALUE_BYTES) -> None:
    """Refuse a value that is no message between processes any more.

    Raises:
        ValueError: it is over 512 KiB, or over what a shelf takes.
    """
    if len(value) > most:
        raise ValueError(f"a value is at most {most} bytes: {len(value)}")


class StateEngine(Protocol):
    """Shared memory with deadlines: one process has it in its own dicts, a fleet on one server."""

    async def start(self) -> None:
        """Make the engine ready; nothing else is called before."""
        ...

    async def close(self) -> None:
        """End every task and subscription the engine made, and wait for them; nothing else is called after.

        A `single_flight` under way ends with `EngineUnavailable`, an iterator of `subscribe` ends after what it holds.
        """
        ...

    def now_ms(self) -> int:
        """Return engine time in UTC milliseconds: the same for every process, untouched by a jump of the wall clock."""
        ...

    @property
    def epoch(self) -> str:
        """Name this memory; another name means the engine may have lost what it held."""
        ...

    async def get(self, key: str) -> bytes | None:
        """Return the last value put, or None once it is gone; there is no order across keys."""
        ...

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        """Keep a value until its ttl; the last write wins and replaces the ttl too."""
        ...

    async def delete(self, key: str) -> bool:
        """Drop a value, also one kept by `single_flight`; return whether there was one."""
        ...

    async def shelve(self, shelf: str, key: str, value: bytes, *, ttl_ms: int, most_bytes: int) -> None:
        """Keep a value until its ttl on a shelf of so many bytes; those that would end first make room.

        A value that is put again counts once, with the new ttl. One that is larger than the whole shelf is not kept.
        """
        ...

    async def shelved(self, shelf: str, key: str) -> bytes | None:
        """Return a value from a shelf, or None once it is gone or had to make room."""
        ...

    async def on_shelf(self, shelf: str) -> dict[str, bytes]:
        """Return everything that is on a shelf and not gone."""
        ...

    async def lease(self, name: str, owner: str, *, ttl_ms: int) -> Lease | None:
        """Take or renew a lease; None while another owner holds it.

        At most one owner is live per name. A renewal by the live owner keeps the token and counts the ttl anew. Every
        other grant, also to the same owner after its ttl or release, has a token higher than any before it under this
        name, even if the engine lost its memory in between: max(last + 1, engine time).
        Names are a small fixed set: the last token of each is kept for ever.
        """
        ...

    async def release(self, lease: Lease) -> bool:
        """Give the lease back if this owner still holds it under this token; return whether it did."""
        ...

    async def put_fenced(self, key: str, value: bytes, *, lease: Lease, ttl_ms: int, channel: str = "") -> Fenced:
        """Put, and publish if a channel is named, if and only if the lease's token is the newest issued for its name.

        One atomic step. STALE: a newer token exists. LOST: the engine knows no token for the name, it was emptied.
        Both change nothing and publish nothing. The token decides, not the ttl: a holder watches its own deadline.
        """
        ...

    async def publish(self, channel: str, payload: bytes) -> None:
        """Send to everyone subscribed now; at most once, in order per publisher and channel, never replayed."""
        ...

    def subscribe(self, channel: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Enter once the subscription stands: whatever is published afterwards arrives.

        A subscriber that falls 1000 messages behind loses the oldest. The iterator ends with the context. When the
        engine cannot be reached, or that was so for a moment, the iterator raises `EngineUnavailable` after what it
        holds: subscribe again, then read what may have been missed.
        """
        ...

    async def single_flight(
        self, key: str, produce: Callable[[], Awaitable[bytes]], *, ttl_ms: int, lock_ms: int, or_alone: bool = False
    ) -> bytes:
        """Return the kept value, or let one caller produce it for all who ask meanwhile.

        The value is kept as `put` would, counted from when it was made; `ttl_ms=0` shares without keeping. All who wait
        get the producer's value or its error; errors are not kept. One that concerns the producer alone, because its
        share is used up, is its own: another of those who wait produces. Cancelling any caller, the first included,
        disturbs no other. Others trust a production for `lock_ms`, then one of them starts a second; the first still
        runs to its end, so `produce` must bound itself, and `lock_ms` should be longer than that bound. A value over
        512 KiB is a ValueError for all. While the engine is away nobody produces, unless each process may do it for its
        own callers, `or_alone`.
        """
        ...

    async def acquire_weight(
        self, ip: str, kind: CallKind, cost: int, *, limit: int, now_ms: int, party: str = "", local_limit: int = 0
    ) -> Grant:
        """Charge one call to the minute of exchange time `now_ms`, before it is sent; nothing is ever given back.

        What is granted in one exchange minute never exceeds floor(0.9 * limit), as long as clock error and travel
        together stay within 1,000 ms: closer than that to an edge both minutes are charged and both must have room.
        Public calls leave the unused reserves of private calls and orders, private calls that of orders. Nothing is
        granted while stopped. A refusal charges nothing. A cost above what its class may ever use is never granted.

        What calls of a kind may spend is divided among the parties that asked in this minute or the one before, and one
        more who may come: see `state.shares`. A party that was there the minute before is granted what it asks for
        within its share whenever there is room, a newcomer the least share of its kind; more, only from what is above
        the unspent shares of the others, and above a tenth kept for newcomers. A party that is refused has asked too.
        Without a party nothing is divided, but what is spent counts.

        A read that names the exchange's limit as its `local_limit` may be granted while the engine is away, of what was
        promised to this process before: of each minute at most a hundredth of the limit, and all processes together
        never more than a tenth, which is beside what the engine itself grants. Not while a stop is known to hold.
        """
        ...

    async def read_weight(self, ip: str, *, now_ms: int) -> int:
        """Return what counts as used in the minute of exchange time `now_ms`."""
        ...

    async def report_weight(self, ip: str, used: int, *, minute: int) -> None:
        """Raise the count of one minute (exchange time // 60,000) to what the exchange says; never lower it."""
        ...

    async def recall_weight(self, ip: str, used: int, *, minute: int) -> None:
        """Raise the count as `report_weight` does, and trust it: what was forgotten of that minute is in it."""
        ...

    async def stop_weight(self, ip: str, *, ms: int, reason: str) -> int:
        """Refuse every kind of call for `ms`; only extends a stop. Return the milliseconds left."""
        ...

    async def admit(
        self, pool: str, member: str, *, ttl_ms: int, cap: int, party: str = "", channel: str = ""
    ) -> Admission:
        """Give a place until its ttl if fewer than `cap` are taken; places past their ttl are freed first.

        Live members never exceed the cap. A member inside is admitted again, also above the cap: same place, ttl anew.

        When all are taken, a party that holds at least two fewer than the one that holds most gets a place of that
        one: the member whose ttl ends first gives way, in the same atomic step, and is published if a channel is named.
        So a party with fewer than floor(cap / parties) places is never refused. Places of no party ("") neither give
        way nor make another do so. A member keeps the party that it came in with, also in an engine that was emptied.
        """
        ...

    async def take_share(
        self, pool: str, member: str, *, party: str, ttl_ms: int, cap: int, newcomers: int
    ) -> Admission:
        """Give a place as `admit` does, but share all of them out, since nobody who has one will give way.

        A party may have floor(cap / (parties + 1)) places, of the parties that hold some, itself included; that leaves
        one share for who may come. It gets more if the unspent shares of the others, and `newcomers` places less those
        that newcomers have, are still free then. So much is also left by a party beyond half of `newcomers`, which
        everybody gets who comes while there is a place. Without a party nothing is shared out, but the place counts.
        """
        ...

    async def touch(self, pool: str, member: str, *, ttl_ms: int) -> bool:
        """Count the ttl of a place anew; False, and no place, for one that is not inside or no longer."""
        ...

    async def leave(self, pool: str, member: str) -> None:
        """Free a place at once; leaving twice is the same as once."""
        ...

    async def members(self, pool: str) -> int:
        """Return how many are inside now."""
        ...

    async def reserve(
        self, account: str, claim: Claim, *, room: ClaimRoom | None = None, alike_ms: int = 0
    ) -> Reservation:
        """Claim a name and its part of every limit of an account, in one atomic step, or change nothing.

        A name that is claimed stays so for 48 hours after its end, and while it has none; who comes later gets its
        value. Otherwise, in this order: `lost` in a memory in which nobody has opened the account, `stopped`, the first
        part that has no room, the room of its group, a claim that is alike and less than `alike_ms` older, one of its
        line that is not settled.
        """
        ...

    async def depart(self, account: str, news: ClaimNews) -> Reservation:
        """Mark a claim as leaving, if it is as it was claimed and the account is open and not stopped.

        `gone` if it is not there, or somebody has told more of it: then it must not leave.
        """
        ...

    async def tell(self, account: str, news: ClaimNews) -> bool:
        """Keep how a claim stands, and give back what it did not use; False if there is no such claim.

        What was given back is not given twice, whoever tells it and how often.
        """
        ...

    async def recount(
        self, account: str, claims: Sequence[tuple[Claim, ClaimNews]], *, lease: Lease | None = None
    ) -> Fenced:
        """Count claims that the engine does not know, whatever the limits say, and keep how all of them stand.

        With a lease the account is open from then on, in this memory of the engine, if the lease's token is the newest
        of its name; STALE and LOST as for `put_fenced`, and then nothing is changed.
        """
        ...

    async def account_book(self, account: str, *, now_ms: int, since_ms: int) -> AccountBook:
        """Return what is known of an account, with the values of claims that still matter, the oldest first.

        These are the claims that are not over, those over since a moment, and those of the last minute.
        """
        ...

    async def find_claim(self, account: str, name: str) -> bytes | None:
        """Return the value of a claim."""
        ...

    async def stop_account(self, account: str, why: str, *, since_ms: int) -> AccountStop | None:
        """Let nothing be claimed or leave; the first reason stays, and is returned. It has no end of its own.

        None, and no stop, for one that is no younger than the last resuming.
        """
        ...

    async def resume_account(self, account: str, *, now_ms: int) -> None:
        """Lift the stop of an account, and every one that is told later and began before."""
        ...

    async def append_log(self, log: str, entry: bytes, *, after: LogMark, tag: str, ttl_ms: int) -> LogPart:
        """Add an entry if the log ends at `after`, in one atomic step; if not, change nothing and tell what follows.

        `tag` names the entry among all that ever were: 32 characters. The log, as a whole, is kept until its ttl, which
        counts from the last entry or snapshot. A log that was lost begins with nothing, and has no place of before.
        """
        ...

    async def read_log(self, log: str, *, after: LogMark) -> LogPart:
        """Return what follows a place; nothing where that is the end."""
        ...

    async def trim_log(self, log: str, snapshot: bytes, *, at: LogMark, ttl_ms: int) -> bool:
        """Keep what all entries up to a place amount to, and drop those that were in the snapshot before it.

        False, and nothing is changed, for a place that is not in the log, and beside a snapshot of a later one.
        """
        ...
