"""Recent use of the event loop by each party (caller), measured as CPU time of its requests."""

from collections.abc import Awaitable, Callable, Generator
from heapq import nlargest
from itertools import islice
from math import exp
from time import perf_counter
from typing import Any, TypeVar

from mcp_binance_server.clock import processor_ms as of_this_thread
from mcp_binance_server.state.shared_use import MOST_NAMED, MOST_TOLD, PartyUse, RemoteUsage

LOOP_REQUEST = "mcp_binance_server.loop_request"
"""Scope key of the `LoopRequest` to which a request's work is charged."""

# Time constant of the exponential decay of usage, about a second.
FADES_MS = 1_000.0
# A party counts as active for 10 s after a request.
ACTIVE_MS = 10_000.0
# While other parties are active, a party is heavy above an equal share of the loop, or above this usage per second.
HEAVY_MS = 100.0
# A request without a step for `STILL_MS`, or older than `OLD_MS`, waits for something other than the event loop.
STILL_MS = 100.0
OLD_MS = 2_000.0
# Usage per second from which a party is reported to other processes.
TOLD_MS = 2.0
# Fixed cost of a request for accepting its connection, parsing its head and starting its task. Without it, a party
# whose clients disconnect early would never be charged, and would always be next.
ASKED_MS = 0.3

T = TypeVar("T")


class LoopAccount:
    """One party's use of the event loop."""

    __slots__ = ("_at_ms", "_used_ms", "asked_ms", "begun_ms", "party", "rests_until_ms", "waiting")

    def __init__(self, party: str) -> None:
        self.party = party
        self.asked_ms = self.begun_ms = self.rests_until_ms = 0.0
        self.waiting = 0
        self._used_ms = self._at_ms = 0.0

    def used(self, now_ms: float) -> float:
        return self._used_ms * exp((self._at_ms - now_ms) / FADES_MS)

    def charge(self, ms: float, now_ms: float) -> None:
        self._used_ms, self._at_ms = self.used(now_ms) + ms, now_ms


class LoopRequest:
    """One request, with the account that pays for it."""

    __slots__ = ("_use", "account", "begun_ms", "stepped_ms")

    def __init__(self, account: LoopAccount, use: "LoopUse") -> None:
        self.account = account
        self.begun_ms = self.stepped_ms = 0.0
        self._use = use

    def charging(self, work: Awaitable[T]) -> Awaitable[T]:
        """Await work and charge the CPU time of each step to this request.

        If a step runs work of another request, the other request is charged for this work. Nested work of this request
        is not charged twice.
        """
        return work if self._use.at_work is self else _Charging(work, self._use, self)


class LoopUse:
    """Accounts of all recent parties.

    `now_ms` is the clock for decay, `processor_ms` the clock for charges. Both are real clocks, because usage would
    never decay under a stopped test `Clock`. `elsewhere` has the reports of other processes. A party that is heavy in
    the whole fleet gets the work of one process, which is `processor_share` of a processor.
    """

    def __init__(
        self,
        now_ms: Callable[[], float] | None = None,
        processor_ms: Callable[[], float] | None = None,
        *,
        processor_share: float = 1.0,
    ) -> None:
        self.now_ms = now_ms or _of_the_machine
        self.processor_ms = processor_ms or of_this_thread
        self.charged_ms = 0.0
        self.at_work: LoopRequest | None = None
        self.elsewhere = RemoteUsage()
        self._processor_share_ms = processor_share * FADES_MS
        self._accounts: dict[str, LoopAccount] = {}
        self._begun: dict[LoopRequest, None] = {}

    def asked(self, party: str) -> LoopRequest:
        """Record a new request of a party."""
        account = self._accounts.pop(party, None) or LoopAccount(party)
        self._accounts[party] = account
        account.asked_ms = self.now_ms()
        account.charge(ASKED_MS, account.asked_ms)
        return LoopRequest(account, self)

    def forget(self, account: LoopAccount) -> None:
        """Drop the account of a caller that was identified as another party."""
        if not account.waiting:
            self._accounts.pop(account.party, None)

    def begin(self, request: LoopRequest) -> None:
        request.begun_ms = request.stepped_ms = request.account.begun_ms = self.now_ms()
        self._begun[request] = None

    def end(self, request: LoopRequest) -> None:
        self._begun.pop(request, None)

    def is_heavy(self, account: LoopAccount, now_ms: float) -> bool:
        """Return True if a party uses more than its share, and other parties are active in this or another process."""
        most_ms = min(HEAVY_MS, FADES_MS / self._active(now_ms))
        if account.used(now_ms) + self.elsewhere.used(account.party) <= most_ms:
            return False
        return len(self._accounts) > 1 or self.elsewhere.has_others(account.party)

    def has_to_wait(self, account: LoopAccount, now_ms: float) -> bool:
        """Return True if a heavy party has to wait before its next request.

        The party waits for its own request in progress, at most `STILL_MS` for requests of parties that are not heavy,
        and until the end of its rest.
        """
        if not self.is_heavy(account, now_ms):
            return False
        if now_ms < account.rests_until_ms:
            return True
        is_patient = now_ms - account.begun_ms < STILL_MS
        for request in reversed(self._begun):
            if now_ms - request.begun_ms >= OLD_MS:
                break
            if now_ms - request.stepped_ms >= STILL_MS:
                continue
            if request.account is account or (is_patient and not self.is_heavy(request.account, now_ms)):
                return True
        return False

    def charge(self, account: LoopAccount, ms: float, now_ms: float) -> None:
        """Charge a party. A heavy party for which other processes work too must then rest for a while."""
        account.charge(ms, now_ms)
        if not self.elsewhere.told and self._processor_share_ms >= FADES_MS:
            return
        times = self._rests_times(account.party)
        if times and self.is_heavy(account, now_ms):
            rested_ms = max(account.rests_until_ms, now_ms) + times * ms
            account.rests_until_ms = min(rested_ms, now_ms + FADES_MS)

    def used_here(self) -> PartyUse:
        """Return the usage report for other processes."""
        now = self.now_ms()
        newest = islice(reversed(self._accounts.values()), MOST_NAMED)
        asked = [each.party for each in newest if now - each.asked_ms < ACTIVE_MS]
        most = nlargest(MOST_TOLD, [(each.used(now), each.party) for each in self._accounts.values()])
        return PartyUse(asked, {party: ms for ms, party in most if ms >= TOLD_MS})

    def _rests_times(self, party: str) -> float:
        """Return the length of a party's rest, as a multiple of its work.

        With this rest, all processes together work as much for the party as one worker would.
        """
        most = (1 + self.elsewhere.processes(party)) * FADES_MS / self._processor_share_ms - 1
        left_ms = self._processor_share_ms - self.elsewhere.used(party)
        return min(most, FADES_MS / left_ms - 1) if left_ms > 0 else most

    def _active(self, now_ms: float) -> int:
        while len(self._accounts) > 1 and self._oldest().asked_ms < now_ms - ACTIVE_MS:
            del self._accounts[self._oldest().party]
        return max(1, len(self._accounts))

    def _oldest(self) -> LoopAccount:
        return next(iter(self._accounts.values()))


class _Charging(Awaitable[T]):
    __slots__ = ("_request", "_use", "_work")

    def __init__(self, work: Awaitable[T], use: LoopUse, request: LoopRequest) -> None:
        self._work, self._use, self._request = work, use, request

    def __await__(self) -> Generator[Any, None, T]:
        steps = self._work.__await__()
        thrown: BaseException | None = None
        while True:
            inside_ms, began_ms = self._use.charged_ms, self._use.processor_ms()
            around, self._use.at_work = self._use.at_work, self._request
            try:
                awaited = next(steps) if thrown is None else steps.throw(thrown)
            except StopIteration as end:
                return end.value
            finally:
                self._use.at_work = around
                # Avoid a reference cycle between the exception and this frame.
                thrown = None
                self._charge(inside_ms, self._use.processor_ms() - began_ms)
            try:
                yield awaited
            except BaseException as error:  # noqa: BLE001 - the work must see every exception
                thrown = error

    def _charge(self, inside_ms: float, took_ms: float) -> None:
        use, request = self._use, self._request
        request.stepped_ms = use.now_ms()
        use.charge(request.account, took_ms - (use.charged_ms - inside_ms), request.stepped_ms)
        use.charged_ms = inside_ms + took_ms


def _of_the_machine() -> float:
    return 1000 * perf_counter()
