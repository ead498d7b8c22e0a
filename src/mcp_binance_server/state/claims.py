"""Claims, which reserve an order and charge it to every limit before any process of the account sends it.

Amounts are whole numbers. Windows use exchange time, which callers pass. An amount belongs to its claim, so a claim
that is reported twice counts once. A refund is given as a total, never as an increment.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

DAY_MS = 86_400_000
MINUTE_MS = 60_000
# Retention of an ended claim, and of a day's usage, in ms.
KEEP_MS = 2 * DAY_MS
# Retention of a claim that never ended, in ms. An order can stay open for a long time.
OPEN_KEEP_MS = 90 * DAY_MS

Window = Literal["day", "minute", "open"]
Verdict = Literal["claimed", "held", "full", "alike", "unsettled", "stopped", "lost", "gone"]


@dataclass(frozen=True, slots=True)
class LimitPart:
    """Charge of a claim to one limit: of a day, of the last minute, or of the open claims.

    The limits of a minute and of open claims count claims, not amounts. With `most` None, the charge is counted but not
    limited. With `returns`, the unused rest is refunded when the claim ends.
    """

    name: str
    window: Window
    amount: int
    most: int | None
    returns: bool = False


@dataclass(frozen=True, slots=True)
class ClaimRoom:
    """Limit for the total worth of a group.

    The total includes `held`, the open claims, and the claims that ended since `since_ms`.
    """

    name: str
    held: int
    most: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, made once under its name.

    It conflicts with claims of equal `alike`, and with unsettled claims of equal `line`. With `passes_stop`, only a
    stop that does not allow exits refuses it.
    """

    name: str
    value: bytes
    at_ms: int
    parts: tuple[LimitPart, ...]
    worth: int = 0
    group: str = ""
    alike: str = ""
    line: str = ""
    passes_stop: bool = False

    @property
    def counts(self) -> tuple[str, ...]:
        """Names of the limits of a minute and of open claims that count this claim."""
        return tuple(each.name for each in self.parts if each.window != "day")


@dataclass(frozen=True, slots=True)
class ClaimNews:
    """State of a claim.

    A state with a lower rank is older and does not replace the known state. `given` is the total refund of each part.
    `over_ms` is the end of the claim, None while it is open.
    """

    name: str
    value: bytes
    rank: int
    settled: bool
    given: int = 0
    over_ms: int | None = None


@dataclass(frozen=True, slots=True)
class AccountStop:
    """Reason and start of a stop. A stopped account claims nothing."""

    why: str
    since_ms: int
    allows_exits: bool = False


@dataclass(frozen=True, slots=True)
class Reservation:
    """Answer to a claim, which is true if the claim belongs to the caller.

    With the verdict `held`, the answer has the value of the first claimant; with `full`, the name and the usage of the
    limit; with `alike` and `unsettled`, the name of the other claim; with `stopped`, the stop. `lost` means that the
    engine does not know the account's usage. `gone` means that the claim does not exist, or is past the requested step.
    """

    verdict: Verdict
    value: bytes = b""
    name: str = ""
    used: int = 0
    stop: AccountStop | None = None

    def __bool__(self) -> bool:
        return self.verdict == "claimed"


@dataclass(frozen=True, slots=True)
class AccountBook:
    """State of an account in the engine: whether it can claim, the usage of the day, the claims that still count."""

    is_open: bool
    stop: AccountStop | None
    resumed_ms: int
    used: dict[str, int]
    values: tuple[bytes, ...]


@dataclass(eq=False)
class _Held:
    claim: Claim
    news: ClaimNews


@dataclass(eq=False)
class AccountClaims:
    """The claims of one account, in the memory of one process."""

    is_open: bool = False
    stop: AccountStop | None = None
    resumed_ms: int = 0
    _held: dict[str, _Held] = field(default_factory=dict[str, _Held])
    _used: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])

    def reserve(self, claim: Claim, room: ClaimRoom | None, alike_ms: int) -> Reservation:
        if (found := self._held.get(claim.name)) is not None:
            return Reservation("held", found.news.value)
        for refusal in (self._closed(claim), self._full(claim, room), self._beside(claim, alike_ms)):
            if refusal is not None:
                return refusal
        self._forget(claim.at_ms)
        self._count(claim, ClaimNews(claim.name, claim.value, 0, settled=False))
        return Reservation("claimed")

    def depart(self, news: ClaimNews) -> Reservation:
        found = self._held.get(news.name)
        if (closed := self._closed(None if found is None else found.claim)) is not None:
            return closed
        if found is None or found.news.rank != 0:
            return Reservation("gone", b"" if found is None else found.news.value)
        found.news = news
        return Reservation("claimed")

    def tell(self, news: ClaimNews) -> bool:
        found = self._held.get(news.name)
        if found is None:
            return False
        self._give_back(found.claim, news.given - found.news.given)
        given = max(news.given, found.news.given)
        if news.rank < found.news.rank:
            found.news = replace(found.news, given=given)
        else:
            found.news = replace(news, given=given)
        return True

    def recount(self, claims: Iterable[tuple[Claim, ClaimNews]]) -> None:
        for claim, news in claims:
            if claim.name not in self._held:
                self._count(claim, replace(news, given=0))
            self.tell(news)

    def book(self, now_ms: int, since_ms: int) -> AccountBook:
        day = now_ms // DAY_MS
        shown = sorted(
            (each for each in self._held.values() if _matters(each, now_ms, since_ms)),
            key=lambda each: (each.claim.at_ms, each.claim.name),
        )
        used = {name: amount for (of, name), amount in self._used.items() if of == day}
        return AccountBook(self.is_open, self.stop, self.resumed_ms, used, tuple(each.news.value for each in shown))

    def find(self, name: str) -> bytes | None:
        found = self._held.get(name)
        return None if found is None else found.news.value

    def _closed(self, claim: Claim | None) -> Reservation | None:
        if not self.is_open:
            return Reservation("lost")
        if self.stop is None or (self.stop.allows_exits and claim is not None and claim.passes_stop):
            return None
        return Reservation("stopped", stop=self.stop)

    def _full(self, claim: Claim, room: ClaimRoom | None) -> Reservation | None:
        for part in claim.parts:
            used = self._used_of(part, claim.at_ms)
            if part.most is not None and used + part.amount > part.most:
                return Reservation("full", name=part.name, used=used)
        if room is None:
            return None
        own = (each for each in self._held.values() if each.claim.group == claim.group)
        used = room.held + sum(
            each.claim.worth for each in own if each.news.over_ms is None or each.news.over_ms >= room.since_ms
        )
        return Reservation("full", name=room.name, used=used) if used + claim.worth > room.most else None

    def _beside(self, claim: Claim, alike_ms: int) -> Reservation | None:
        for name, each in self._held.items():
            if claim.alike and each.claim.alike == claim.alike and each.claim.at_ms > claim.at_ms - alike_ms:
                return Reservation("alike", name=name)
        for name, each in self._held.items():
            if claim.line and each.claim.line == claim.line and each.news.over_ms is None and not each.news.settled:
                return Reservation("unsettled", name=name)
        return None

    def _used_of(self, part: LimitPart, now_ms: int) -> int:
        match part.window:
            case "day":
                return self._used.get((now_ms // DAY_MS, part.name), 0)
            case "minute":
                return sum(each.claim.at_ms > now_ms - MINUTE_MS for each in self._counted(part.name))
            case "open":
                return sum(each.news.over_ms is None for each in self._counted(part.name))

    def _counted(self, limit: str) -> list[_Held]:
        return [each for each in self._held.values() if limit in each.claim.counts]

    def _count(self, claim: Claim, news: ClaimNews) -> None:
        self._held[claim.name] = _Held(claim, news)
        for part in claim.parts:
            if part.window == "day":
                key = (claim.at_ms // DAY_MS, part.name)
                self._used[key] = self._used.get(key, 0) + part.amount

    def _give_back(self, claim: Claim, amount: int) -> None:
        for part in claim.parts:
            key = (claim.at_ms // DAY_MS, part.name)
            if part.returns and amount > 0 and key in self._used:
                self._used[key] -= amount

    def _forget(self, now_ms: int) -> None:
        for name in [name for name, each in self._held.items() if _ends_ms(each) <= now_ms]:
            del self._held[name]
        for key in [key for key in self._used if key[0] * DAY_MS + DAY_MS + KEEP_MS <= now_ms]:
            del self._used[key]


def _matters(held: _Held, now_ms: int, since_ms: int) -> bool:
    over_ms = held.news.over_ms
    return over_ms is None or over_ms >= since_ms or held.claim.at_ms > now_ms - MINUTE_MS


def _ends_ms(held: _Held) -> int:
    over_ms = held.news.over_ms
    return held.claim.at_ms + OPEN_KEEP_MS if over_ms is None else max(over_ms, held.claim.at_ms) + KEEP_MS


def returning(parts: Sequence[LimitPart]) -> tuple[str, ...]:
    """Return the names of the daily parts that are refunded."""
    return tuple(each.name for each in parts if each.returns and each.window == "day")
