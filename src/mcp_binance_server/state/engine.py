"""Protocol of the state engine, which keeps data between calls, with the guarantees of every implementation.

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
    """Right of one owner to write under a name. `token` is a fencing token, which increases with every new holder."""

    name: str
    owner: str
    token: str
    ttl_ms: int


class Fenced(Enum):
    """Outcome of a fenced write."""

    WRITTEN = "written"
    STALE = "stale"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Grant:
    """Answer to a request for weight. It is true if the call can be sent.

    `used` is the weight of the minute that decided. `retry_ms` is 0 if the weight is granted. Otherwise it is the exact
    time until the minute or stop that refused ends. `forgotten` means that the engine was emptied and does not know the
    minute's cost. One caller a second gets `forgotten` with a `retry_ms` of 0: it asks the exchange for the count and
    reports it with `recall_weight`. Other callers ask again after `retry_ms`, or sooner. With `share`, the party (a
    caller with a share of its own) has spent `own` of this minute and can count on `share`. The remaining weight is
    reserved for other parties.
    """

    granted: bool
    reason: Refusal
    used: int
    retry_ms: int
    share: int = 0
    own: int = 0
    is_local: bool = False
    """Whether the weight came from promises to this process, because the engine was away."""

    def __bool__(self) -> bool:
        return self.granted


@dataclass(frozen=True, slots=True)
class Admission:
    """Answer to a request for a place in a pool.

    `count` is the number of members, and `retry_ms` the wait for a free place. `evicted` is the member that lost its
    place to the new member, mostly "". `take_share` can refuse although places are free. It then also sets `own`, the
    party's number of places, and `share`, the party's guaranteed number.
    """

    admitted: bool
    count: int
    retry_ms: int
    evicted: str = ""
    own: int = 0
    share: int = 0


@dataclass(frozen=True, slots=True)
class Reserves:
    """Percentages of the ceiling that lower classes of calls must leave to higher classes.

    Cancels count as orders. A server that only reads sets `order_percent=0`. A server without credentials uses
    `none()`.
    """

    order_percent: int = 20
    private_percent: int = 50

    def __post_init__(self) -> None:
        if min(self.order_percent, self.private_percent) < 0 or self.order_percent + self.private_percent > 100:
            raise ValueError(f"reserves must be at least 0 and together at most 100 percent: {self}")

    @classmethod
    def none(cls) -> "Reserves":
        """Return empty reserves. Without credentials every call is public and can use the whole ceiling."""
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


class EngineTime(Protocol):
    """The engine's time."""

    def now_ms(self) -> int:
        """Return engine time in UTC milliseconds.

        All processes get the same time, also after a jump of the wall clock.
        """
        ...


class Values(EngineTime, Protocol):
    """Values with TTLs, shelves of values, shared production of values, and logs."""

    async def get(self, key: str) -> bytes | None:
        """Return the value that was put last, or None after its TTL. Different keys have no order."""
        ...

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        """Store a value until its TTL. The last write wins and also replaces the TTL."""
        ...

    async def delete(self, key: str) -> bool:
        """Delete a value, even one stored by `single_flight`. Return True if it existed."""
        ...

    async def shelve(self, shelf: str, key: str, value: bytes, *, ttl_ms: int, most_bytes: int) -> None:
        """Store a value until its TTL on a shelf, a group of values with a total limit of `most_bytes`.

        If the limit is passed, the values that expire first are evicted. A value stored again counts once, with the new
        TTL. A value larger than the whole shelf is not stored.
        """
        ...

    async def shelved(self, shelf: str, key: str) -> bytes | None:
        """Return a value of a shelf, or None if it has expired or was evicted."""
        ...

    async def on_shelf(self, shelf: str) -> dict[str, bytes]:
        """Return all values of a shelf that have not expired."""
        ...

    async def single_flight(
        self, key: str, produce: Callable[[], Awaitable[bytes]], *, ttl_ms: int, lock_ms: int, or_alone: bool = False
    ) -> bytes:
        """Return the stored value, or let one caller produce it for all concurrent callers.

        The value is stored as `put` does, with a TTL from its production. `ttl_ms=0` shares it without storing it.

        All waiting callers get the producer's value or error. Errors are not stored. If the producer's own share is
        used up, only the producer gets this error, and another waiting caller produces. Cancelling one caller, even the
        first, disturbs no other.

        Other callers trust a production for `lock_ms`. Then one of them starts a second production, and the first still
        runs to its end. So `produce` must bound itself, and `lock_ms` should be longer than that bound.

        A value over 512 KiB is a ValueError for all callers. While the engine is away, no caller produces. With
        `or_alone`, each process then produces for its own callers.
        """
        ...

    async def append_log(self, log: str, entry: bytes, *, after: LogMark, tag: str, ttl_ms: int) -> LogPart:
        """Append an entry if the log ends at `after`, in one atomic step.

        Otherwise return the entries that follow `after`. `tag` has 32 characters and identifies the entry among all
        entries ever written. The TTL applies to the whole log. Each entry or snapshot restarts it. A log that was lost
        starts empty and contains no earlier mark.
        """
        ...

    async def read_log(self, log: str, *, after: LogMark) -> LogPart:
        """Return the entries after a mark. There are none if the log ends there."""
        ...

    async def trim_log(self, log: str, snapshot: bytes, *, at: LogMark, ttl_ms: int) -> bool:
        """Store a snapshot of all entries up to a mark. Drop the entries that the previous snapshot contains.

        Return False and change nothing if the mark is not in the log, or if the log has a snapshot of the same or a
        later mark.
        """
        ...


class Leases(EngineTime, Protocol):
    """Leases with fencing tokens, writes under a lease, and channels between processes."""

    async def lease(self, name: str, owner: str, *, ttl_ms: int) -> Lease | None:
        """Acquire or renew a lease. Return None while another owner holds it.

        At most one owner is live per name. A renewal by the live owner keeps the token and restarts the TTL. Every
        other grant has a higher token than all earlier grants of this name, even a grant to the same owner after the
        TTL or a release. This is true even if the engine lost its memory in between, because the token is max(last + 1,
        engine time). Names are a small fixed set, because the last token of each is kept forever.
        """
        ...

    async def release(self, lease: Lease) -> bool:
        """Release the lease if this owner still holds it under this token. Return True if it did."""
        ...

    async def put_fenced(self, key: str, value: bytes, *, lease: Lease, ttl_ms: int, channel: str = "") -> Fenced:
        """Put a value if and only if the lease's token is the newest issued for its name.

        If a channel is named, publish it too. Both happen in one atomic step. STALE means that a newer token exists.
        LOST means that the engine was emptied and knows no token for the name. STALE and LOST change nothing and
        publish nothing. The token decides, not the TTL, so a holder must check its own deadline.
        """
        ...

    async def publish(self, channel: str, payload: bytes) -> None:
        """Send to all current subscribers.

        Delivery is at most once and in order per publisher and channel, without replay.
        """
        ...

    def subscribe(self, channel: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Subscribe to a channel. Every message published after the context is entered arrives.

        A subscriber that falls 1000 messages behind loses the oldest. The iterator ends with the context. If the engine
        cannot be reached, even for a moment, the iterator raises `EngineUnavailable` after its queued messages. Then
        subscribe again, and read the values that may have been missed.
        """
        ...


class WeightBudget(Protocol):
    """Request weight that all processes of an IP address share."""

    async def acquire_weight(
        self, ip: str, kind: CallKind, cost: int, *, limit: int, now_ms: int, party: str = "", local_limit: int = 0
    ) -> Grant:
        """Charge one call to the minute of exchange time `now_ms`, before it is sent. Weight is never refunded.

        The grants of one exchange minute never exceed floor(0.9 * limit), as long as clock error and travel time
        together stay within 1,000 ms. Within this time of a minute's edge, both minutes are charged and both must have
        room.

        Public calls leave the unused reserves of private calls and orders. Private calls leave the unused reserve of
        orders. During a stop nothing is granted. A refused call is not charged. A cost above the maximum of its class
        is never granted.

        The weight for a kind of call is divided among the parties that asked in this minute or the one before, and one
        more party that may still come: see `state.weight`. While there is room, a party that asked in the minute before
        is granted all calls within its share. A new party is granted all calls within the least share of its kind. More
        is granted only from the weight above two amounts: the unspent shares of the other parties, and a tenth reserved
        for new parties. A refused call also counts as asking. Without a party nothing is divided, but the weight
        counts.

        A read that passes the exchange's limit as its `local_limit` can be granted while the engine is away. It uses
        weight promised to this process before: at most a hundredth of the limit per minute, and never more than a tenth
        for all processes together. This weight is in addition to the engine's own grants. A known stop also stops it.
        """
        ...

    async def read_weight(self, ip: str, *, now_ms: int) -> int:
        """Return the weight used in the minute of exchange time `now_ms`."""
        ...

    async def report_weight(self, ip: str, used: int, *, minute: int) -> None:
        """Raise the count of one minute (exchange time // 60,000) to the exchange's count.

        The count is never lowered.
        """
        ...

    async def recall_weight(self, ip: str, used: int, *, minute: int) -> None:
        """Raise the count like `report_weight`.

        From then on the count is complete, because the exchange's count includes the forgotten weight.
        """
        ...

    async def stop_weight(self, ip: str, *, ms: int, reason: str) -> int:
        """Refuse every kind of call for `ms`. A stop is never shortened. Return the milliseconds left."""
        ...


class Places(EngineTime, Protocol):
    """Pools with a limited number of places, divided fairly among parties."""

    async def admit(
        self, pool: str, member: str, *, ttl_ms: int, cap: int, party: str = "", channel: str = ""
    ) -> Admission:
        """Give a place until its TTL if fewer than `cap` are taken. Places past their TTL are freed first.

        Live members never exceed the cap. A current member keeps its place, even above the cap, and its TTL restarts.

        If all places are taken, a party with at least two places fewer than the largest holder gets one of that
        holder's places. The holder's member whose TTL ends first is evicted in the same atomic step. If a channel is
        named, this member is published there. So a party with fewer than floor(cap / parties) places is never refused.
        Places without a party ("") are never evicted and evict no others. A member keeps its first party, even in an
        engine that was emptied.
        """
        ...

    async def take_share(
        self, pool: str, member: str, *, party: str, ttl_ms: int, cap: int, newcomers: int
    ) -> Admission:
        """Give a place as `admit` does, but divide all places among the parties. No holder is evicted.

        A party can have floor(cap / (parties + 1)) places. `parties` counts the current holders, including this party.
        The one additional share is for a new party.

        A party gets more places only if the unused shares of the other parties and the reserve stay free. The reserve
        is `newcomers` places minus the places that new parties hold. Beyond half of `newcomers`, a party always leaves
        this reserve free. Up to that half, every party is admitted while there is a place. Without a party nothing is
        divided, but the place counts.
        """
        ...

    async def touch(self, pool: str, member: str, *, ttl_ms: int) -> bool:
        """Restart the TTL of a place.

        Return False if the member has no place or has expired. It does not get a new place.
        """
        ...

    async def leave(self, pool: str, member: str) -> None:
        """Free a place at once. A second call has no effect."""
        ...

    async def members(self, pool: str) -> int:
        """Return the current number of members."""
        ...


class Claims(Protocol):
    """Claims of orders, with the limits and stops of an account."""

    async def reserve(
        self, account: str, claim: Claim, *, room: ClaimRoom | None = None, alike_ms: int = 0
    ) -> Reservation:
        """Claim a name and charge every limit of an account, in one atomic step, or change nothing.

        A claimed name stays claimed for 48 hours after its end, or for 90 days without an end. Later callers get the
        value of the first. Otherwise the verdict is the first of these that applies. `lost`: the account was not opened
        in this memory. `stopped`: the account is stopped. `full`: a limit, or the room of the claim's group, is used
        up. `alike`: an alike claim is less than `alike_ms` older. `unsettled`: a claim of the same line is unsettled.
        """
        ...

    async def depart(self, account: str, news: ClaimNews) -> Reservation:
        """Mark a claim as departing. The claim must be unchanged, and the account open and not stopped.

        `gone` means that the claim does not exist or has newer news. The order must then not be sent.
        """
        ...

    async def tell(self, account: str, news: ClaimNews) -> bool:
        """Store the state of a claim and return its unused amounts to the limits.

        Return False if there is no such claim. An amount is returned only once, even if several processes report it
        several times.
        """
        ...

    async def recount(
        self, account: str, claims: Sequence[tuple[Claim, ClaimNews]], *, lease: Lease | None = None
    ) -> Fenced:
        """Count the claims that the engine does not know, regardless of the limits. Store the state of all claims.

        With a lease, the account is open from then on, in this memory of the engine. The lease's token must be the
        newest of its name. Otherwise nothing is changed, and the result is STALE or LOST as for `put_fenced`.
        """
        ...

    async def account_book(self, account: str, *, now_ms: int, since_ms: int) -> AccountBook:
        """Return the state of an account, with the values of the claims that still count, oldest first.

        These are open claims, claims that ended at `since_ms` or later, and claims of the last minute.
        """
        ...

    async def find_claim(self, account: str, name: str) -> bytes | None:
        """Return the value of a claim, or None if the claim is unknown."""
        ...

    async def stop_account(
        self, account: str, why: str, *, since_ms: int, allows_exits: bool = True
    ) -> AccountStop | None:
        """Refuse claims and departures until the account is resumed; return the stop with the first reason.

        A stop that allows exits accepts claims with `passes_stop`. A later stop that does not allow exits replaces it.
        Return None, without a stop, if `since_ms` is not after the last resume.
        """
        ...

    async def resume_account(self, account: str, *, now_ms: int) -> None:
        """Lift the stop of an account. A stop that began before `now_ms` is ignored, even if it is reported later."""
        ...


class StateEngine(Values, Leases, WeightBudget, Places, Claims, Protocol):
    """Shared memory with TTLs, in the dicts of one process or on one server for a fleet."""

    async def start(self) -> None:
        """Start the engine. No other method is called before."""
        ...

    async def close(self) -> None:
        """Stop every task and subscription of the engine and wait for them. No other method is called afterwards.

        A running `single_flight` ends with `EngineUnavailable`. An iterator of `subscribe` ends after its queued
        messages.
        """
        ...

    @property
    def epoch(self) -> str:
        """ID of this memory. After a change of the ID, the engine may have lost its content."""
        ...
