"""The state engine: data that the server keeps between calls, and the guarantees of every implementation.

The docstrings here are a contract; the tests in tests/state check it for each engine. TTLs are measured by the engine's
own clock, never by a caller's. A value is gone at its TTL, not one millisecond later. If the engine cannot be reached,
every call raises `EngineUnavailable` within a second. Wrong arguments raise `ValueError`: a value over 512 KiB (2 MiB
on a shelf and for a snapshot), a TTL below 1 ms, a negative cost.
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
    """One owner's right to write under a name; `token` is a fencing token that rises with every new holder."""

    name: str
    owner: str
    token: str
    ttl_ms: int


class Fenced(Enum):
    """The outcome of a fenced write."""

    WRITTEN = "written"
    STALE = "stale"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer to a request for weight; true if the call can be sent.

    `used` is the count of the minute that decided. `retry_ms` is 0 if granted. Otherwise, after exactly that wait, the
    minute or the stop that refused no longer counts.

    `forgotten` means that the engine was emptied and does not know the minute's cost. One caller a second gets it with
    a `retry_ms` of 0: this caller asks the exchange for its count and reports it with `recall_weight`. The others ask
    again after `retry_ms`, or sooner.

    With `share` the party has spent `own` of this minute and can count on `share`; the remaining weight is reserved for
    others.
    """

    granted: bool
    reason: Refusal
    used: int
    retry_ms: int
    share: int = 0
    own: int = 0
    is_local: bool = False
    """Whether the engine was away and this process spent weight that was promised for this case."""

    def __bool__(self) -> bool:
        return self.granted


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer to a request for a place; `count` is the number of members, `retry_ms` the wait for a free place.

    `gave_way` is the member that was evicted for the new one; mostly empty. `take_share` also sets `own`, the party's
    number of places, and `share`, its guaranteed number, if it refuses although places are free.
    """

    admitted: bool
    count: int
    retry_ms: int
    gave_way: str = ""
    own: int = 0
    share: int = 0


@dataclass(frozen=True, slots=True)
class Reserves:
    """The parts of the ceiling that lower classes of calls must leave to higher ones, in percent.

    Cancels are orders. A server that only reads sets `order_percent=0`; a server without credentials uses `none()`.
    """

    order_percent: int = 20
    private_percent: int = 50

    def __post_init__(self) -> None:
        if min(self.order_percent, self.private_percent) < 0 or self.order_percent + self.private_percent > 100:
            raise ValueError(f"reserves must be at least 0 and together at most 100 percent: {self}")

    @classmethod
    def none(cls) -> "Reserves":
        """Return empty reserves: without credentials every call is public and can use the whole ceiling."""
        return cls(order_percent=0, private_percent=0)


def check_ttl(ttl_ms: int) -> None:
    """Refuse a TTL that no engine can measure.

    Raises:
        ValueError: the TTL is below a millisecond.
    """
    if ttl_ms < 1:
        raise ValueError(f"a ttl is at least 1 ms: {ttl_ms}")


def check_size(value: bytes, most: int = MAX_VALUE_BYTES) -> None:
    """Refuse a value that is too large for a message between processes.

    Raises:
        ValueError: the value is over 512 KiB, or over `most` bytes, the limit of a shelf.
    """
    if len(value) > most:
        raise ValueError(f"a value is at most {most} bytes: {len(value)}")


class StateEngine(Protocol):
    """Shared memory with TTLs: in the dicts of one process, or on one server for a fleet."""

    async def start(self) -> None:
        """Start the engine; no other method is called before."""
        ...

    async def close(self) -> None:
        """Stop every task and subscription of the engine and wait for them; no other method is called after.

        A running `single_flight` ends with `EngineUnavailable`; an iterator of `subscribe` ends after its queued
        messages.
        """
        ...

    def now_ms(self) -> int:
        """Return engine time in UTC milliseconds: equal for every process, unaffected by a jump of the wall clock."""
        ...

    @property
    def epoch(self) -> str:
        """The ID of this memory; after a change the engine may have lost its content."""
        ...

    async def get(self, key: str) -> bytes | None:
        """Return the last value put, or None after its TTL; there is no order across keys."""
        ...

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        """Store a value until its TTL; the last write wins and also replaces the TTL."""
        ...

    async def delete(self, key: str) -> bool:
        """Delete a value, also one stored by `single_flight`; return True if it existed."""
        ...

    async def shelve(self, shelf: str, key: str, value: bytes, *, ttl_ms: int, most_bytes: int) -> None:
        """Store a value until its TTL on a shelf of `most_bytes`; the values that expire first are evicted.

        A value that is put again counts once, with the new TTL. A value larger than the whole shelf is not stored.
        """
        ...

    async def shelved(self, shelf: str, key: str) -> bytes | None:
        """Return a value of a shelf, or None if it has expired or was evicted."""
        ...

    async def on_shelf(self, shelf: str) -> dict[str, bytes]:
        """Return all values of a shelf that have not expired."""
        ...

    async def lease(self, name: str, owner: str, *, ttl_ms: int) -> Lease | None:
        """Acquire or renew a lease; None while another owner holds it.

        At most one owner is live per name. A renewal by the live owner keeps the token and restarts the TTL. Every
        other grant, also to the same owner after its TTL or release, has a token higher than any before it under this
        name, even if the engine lost its memory in between: max(last + 1, engine time). Names are a small fixed set:
        the last token of each is kept forever.
        """
        ...

    async def release(self, lease: Lease) -> bool:
        """Release the lease if this owner still holds it under this token; return True if it did."""
        ...

    async def put_fenced(self, key: str, value: bytes, *, lease: Lease, ttl_ms: int, channel: str = "") -> Fenced:
        """Put, and publish if a channel is named, if and only if the lease's token is the newest issued for its name.

        One atomic step. STALE: a newer token exists. LOST: the engine was emptied and knows no token for the name. Both
        change nothing and publish nothing. The token decides, not the TTL: a holder watches its own deadline.
        """
        ...

    async def publish(self, channel: str, payload: bytes) -> None:
        """Send to all current subscribers; at most once, in order per publisher and channel, never replayed."""
        ...

    def subscribe(self, channel: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Subscribe to a channel; every message published after entering the context arrives.

        A subscriber that falls 1000 messages behind loses the oldest. The iterator ends with the context. If the engine
        cannot be reached, even for a moment, the iterator raises `EngineUnavailable` after its queued messages:
        subscribe again, then read the values that may have been missed.
        """
        ...

    async def single_flight(
        self, key: str, produce: Callable[[], Awaitable[bytes]], *, ttl_ms: int, lock_ms: int, or_alone: bool = False
    ) -> bytes:
        """Return the stored value, or let one caller produce it for all concurrent callers.

        The value is stored as `put` does, with a TTL from its production; `ttl_ms=0` shares it without storing it. All
        waiting callers get the producer's value or its error; errors are not stored. An error that concerns the
        producer alone, because its share is used up, reaches only the producer; another waiting caller then produces.
        Cancelling any caller, the first included, disturbs no other. Others trust a production for `lock_ms`, then one
        of them starts a second; the first still runs to its end, so `produce` must bound itself, and `lock_ms` should
        be longer than that bound. A value over 512 KiB is a ValueError for all. While the engine is away no caller
        produces; with `or_alone` each process produces for its own callers.
        """
        ...

    async def acquire_weight(
        self, ip: str, kind: CallKind, cost: int, *, limit: int, now_ms: int, party: str = "", local_limit: int = 0
    ) -> Grant:
        """Charge one call to the minute of exchange time `now_ms`, before it is sent; weight is never refunded.

        The grants of one exchange minute never exceed floor(0.9 * limit), as long as clock error and travel time
        together stay within 1,000 ms: closer than that to an edge both minutes are charged and both must have room.
        Public calls leave the unused reserves of private calls and orders, private calls that of orders. Nothing is
        granted during a stop. A refusal charges nothing. A cost above the maximum of its class is never granted.

        The weight for a kind of call is divided among the parties that asked in this minute or the one before, and one
        more party that may still come: see `state.weight`. A party that asked in the minute before is granted all calls
        within its share while there is room, a new party all calls within the least share of its kind. More is granted
        only from the weight above the unspent shares of the others and above a tenth reserved for new parties. A
        refused call also counts as asking. Without a party nothing is divided, but the weight counts.

        A read that names the exchange's limit as its `local_limit` can be granted while the engine is away, from weight
        promised to this process before: at most a hundredth of the limit per minute, and never more than a tenth for
        all processes together, in addition to the engine's own grants. Not during a known stop.
        """
        ...

    async def read_weight(self, ip: str, *, now_ms: int) -> int:
        """Return the weight used in the minute of exchange time `now_ms`."""
        ...

    async def report_weight(self, ip: str, used: int, *, minute: int) -> None:
        """Raise the count of one minute (exchange time // 60,000) to the exchange's count; never lower it."""
        ...

    async def recall_weight(self, ip: str, used: int, *, minute: int) -> None:
        """Raise the count as `report_weight` does, and trust it: it includes the forgotten weight of that minute."""
        ...

    async def stop_weight(self, ip: str, *, ms: int, reason: str) -> int:
        """Refuse every kind of call for `ms`; a stop is never shortened. Return the milliseconds left."""
        ...

    async def admit(
        self, pool: str, member: str, *, ttl_ms: int, cap: int, party: str = "", channel: str = ""
    ) -> Admission:
        """Give a place until its TTL if fewer than `cap` are taken; places past their TTL are freed first.

        Live members never exceed the cap. A current member is admitted again, also above the cap: same place, TTL
        restarted.

        If all places are taken, a party that holds at least two fewer than the largest holder gets one of that holder's
        places: the member whose TTL ends first is evicted in the same atomic step, and published if a channel is named.
        So a party with fewer than floor(cap / parties) places is never refused. Places without a party ("") are neither
        evicted nor evict others. A member keeps the party that it came in with, also in an engine that was emptied.
        """
        ...

    async def take_share(
        self, pool: str, member: str, *, party: str, ttl_ms: int, cap: int, newcomers: int
    ) -> Admission:
        """Give a place as `admit` does, but divide all places among the parties, since no holder is evicted.

        A party can have floor(cap / (parties + 1)) places; `parties` counts the current holders, itself included, and
        one share is left for a new party. A party gets more if the unspent shares of the others stay free, and with
        them the reserve: `newcomers` places less those that new parties hold. Beyond half of `newcomers` a party always
        leaves this reserve free; up to that half every party is admitted while there is a place. Without a party
        nothing is divided, but the place counts.
        """
        ...

    async def touch(self, pool: str, member: str, *, ttl_ms: int) -> bool:
        """Restart the TTL of a place; return False, without a place, for a member that is not inside or has expired."""
        ...

    async def leave(self, pool: str, member: str) -> None:
        """Free a place at once; a second call has no effect."""
        ...

    async def members(self, pool: str) -> int:
        """Return the current number of members."""
        ...

    async def reserve(
        self, account: str, claim: Claim, *, room: ClaimRoom | None = None, alike_ms: int = 0
    ) -> Reservation:
        """Claim a name and its part of every limit of an account, in one atomic step, or change nothing.

        A claimed name stays claimed for 48 hours after its end, without an end for 90 days; others get its value.
        Otherwise the first of these is the verdict: `lost` if the account was not opened in this memory, `stopped`,
        `full` for the first part without room, `full` for the room of its group, `alike` for an alike claim less than
        `alike_ms` older, `unsettled` for an unsettled claim of its line.
        """
        ...

    async def depart(self, account: str, news: ClaimNews) -> Reservation:
        """Mark a claim as departing, if it is as it was claimed and the account is open and not stopped.

        `gone` means that the claim does not exist or has newer news: then its order must not be sent.
        """
        ...

    async def tell(self, account: str, news: ClaimNews) -> bool:
        """Store the state of a claim and return its unused amounts to the limits; False if there is no such claim.

        An amount is returned only once, even if several processes report it several times.
        """
        ...

    async def recount(
        self, account: str, claims: Sequence[tuple[Claim, ClaimNews]], *, lease: Lease | None = None
    ) -> Fenced:
        """Count claims that the engine does not know, regardless of the limits, and store the state of all of them.

        With a lease the account is open from then on, in this memory of the engine, if the lease's token is the newest
        of its name; STALE and LOST as for `put_fenced`, and then nothing is changed.
        """
        ...

    async def account_book(self, account: str, *, now_ms: int, since_ms: int) -> AccountBook:
        """Return the state of an account, with the values of the claims that still matter, oldest first.

        These are the open claims, those that ended at `since_ms` or later, and those of the last minute.
        """
        ...

    async def find_claim(self, account: str, name: str) -> bytes | None:
        """Return the value of a claim; None if it is unknown."""
        ...

    async def stop_account(self, account: str, why: str, *, since_ms: int) -> AccountStop | None:
        """Refuse claims and departures until the account is resumed; return the stop with the first reason.

        Return None, without a stop, if `since_ms` is not after the last resume.
        """
        ...

    async def resume_account(self, account: str, *, now_ms: int) -> None:
        """Lift the stop of an account; stops reported later that began before `now_ms` are ignored."""
        ...

    async def append_log(self, log: str, entry: bytes, *, after: LogMark, tag: str, ttl_ms: int) -> LogPart:
        """Add an entry if the log ends at `after`, in one atomic step; otherwise return what follows.

        `tag` identifies the entry among all entries ever written: 32 characters. The log, as a whole, is kept until its
        TTL, which restarts with each entry or snapshot. A log that was lost starts empty and contains no earlier mark.
        """
        ...

    async def read_log(self, log: str, *, after: LogMark) -> LogPart:
        """Return the entries after a mark; none if the log ends there."""
        ...

    async def trim_log(self, log: str, snapshot: bytes, *, at: LogMark, ttl_ms: int) -> bool:
        """Store a snapshot of all entries up to a mark, and drop the entries that the previous snapshot contains.

        Return False, and change nothing, if the mark is not in the log or the log has a snapshot of the same or a later
        mark.
        """
        ...
