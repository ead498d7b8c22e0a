"""Generated histories of orders, people, faults, processes and time against a simple model of what may be."""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from decimal import Decimal
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, get_args

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import Target
from mcp_binance_server.trading.desk import Desk, Placed
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.ledger import HostLedger, LimitPassed, TradingIsStopped
from mcp_binance_server.trading.journal.records import NewIntent
from mcp_binance_server.trading.judgement.charges import DAY_MS, MINUTE_MS, charges
from mcp_binance_server.trading.requests import request_of
from support.terms import intent
from trading.bare_past import POLICY, BarePast
from trading.drawn import PRICES, Wish, changes, lists, resting, singles, wishes
from trading.host import PAIR, START, SYMBOL, Host, Print, Process, What, Where, started
from trading.judging import judge
from trading.killing import Late, Resending, name_of

pytestmark = [pytest.mark.flood, pytest.mark.slow]

EXAMPLES, EXAMPLES_OF_A_COMMIT, STEPS = 75, 25, 80
LEAST, LEAST_OF_A_COMMIT = 5_000, 1_000
# What the histories must come to, over and over.
MET = (
    "ACKED", "REJECTED", "NOT_SENT", "UNKNOWN", "NOT_PLACED", "STATUS", "DENIED", "limit", "STOPPED", "RESUMED",
    "WAITING", "APPROVED", "DECLINED", "CANCELLED", "CANCEL_UNKNOWN", "died", "ended",
    "OCO ACKED", "OTO ACKED", "OTOCO ACKED", "OPO ACKED", "list REJECTED", "list UNKNOWN",
    "entry filled", "list cancelled", "leg cancelled",
    "replacement ACKED", "replacement UNKNOWN", "over before", "amendment ACKED", "amendment UNKNOWN", "AMENDED",
)  # fmt: skip
# It takes many steps to come to these: a short run meets each of them a few times at best, a long one must.
RARE = ("OPOCO ACKED", "exit filled", "gone")
_folders = count()

faults = st.one_of(
    st.none(), st.none(), st.tuples(st.sampled_from(get_args(Where)), st.sampled_from(("error", "defect")))
)
prints = st.lists(st.tuples(PRICES, st.integers(1, 8), st.booleans()), min_size=1, max_size=3)
laters = st.sampled_from((0, 15_000, MINUTE_MS + 1, 11 * MINUTE_MS, DAY_MS + 1))


class Histories(RuleBasedStateMachine):
    """Whatever happens, the exchange and the journal agree, limits hold, and nothing is sent twice."""

    folder: ClassVar[Path]
    desk: ClassVar[type[Desk]] = Desk
    steps: ClassVar[int] = 0
    seen: ClassVar[Counter[str]] = Counter()
    """How often each thing was met: histories in which nothing happens prove nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.portal: BlockingPortal = self.stack.enter_context(start_blocking_portal())
        self.host = Host(self.folder / str(next(_folders)), self.desk)
        self.host.new_folder(self.folder / "template")
        self.past = BarePast(self.host.file)
        self.judged_at = b""
        self.numbers = count()
        self.asked: Counter[str] = Counter()
        """How often each thing may be sent: once for each preview."""
        self.previews: list[NewIntent] = []
        self.placed: list[NewIntent] = []
        self.declined: set[str] = set()
        self.waiting: dict[str, bool] = {}
        self.ways_out: list[AbstractContextManager[Process]] = []
        self.processes: list[Process] = []
        self.begin()

    def begin(self) -> None:
        way_out = self.portal.wrap_async_context_manager(started(self.host, matches=not self.processes))
        self.processes.append(way_out.__enter__())
        self.ways_out.append(way_out)

    def end(self, which: int) -> None:
        self.processes.pop(which)
        self.ways_out.pop(which).__exit__(None, None, None)

    def restart(self, which: int, *, dies: bool) -> None:
        """End a process, in order or not; where the one ends that matches, everybody does, and one begins anew."""
        for each in [*range(len(self.processes))][::-1] if which == 0 else [which]:
            if dies:
                self.portal.call(self.processes[each].die)
            self.end(each)
        if not self.processes:
            self.begin()

    def teardown(self) -> None:
        self.seen.update(self.past.happened())
        for which in [*range(len(self.processes))][::-1]:
            self.end(which)
        self.past.close()
        self.stack.close()

    def at(self, which: int) -> Process:
        return self.processes[which % len(self.processes)]

    # What people and models ask for.

    @rule(wish=wishes)
    def preview_that_needs_a_person(self, wish: Wish) -> None:
        new = self.previewed(wish)
        self.waiting[new.preview_id] = False
        self.portal.call(self.at(0).agreements.wait, new.preview_id, "me", new.terms, self.host.clock.now_ms())

    @precondition(lambda self: any(not each for each in self.waiting.values()))
    @rule(says_yes=st.booleans(), which=st.integers(0, 9), process=st.integers(0, 1))
    def answer(self, which: int, process: int, *, says_yes: bool) -> None:
        asked = [new for new in self.previews if self.waiting.get(new.preview_id) is False]
        preview_id = asked[which % len(asked)].preview_id
        agreements, now_ms = self.at(process).agreements, self.host.clock.now_ms()
        if says_yes:
            assert self.portal.call(agreements.approve, preview_id, "signed", now_ms)
            self.waiting[preview_id] = True
        else:
            self.portal.call(agreements.decline, preview_id, "me", now_ms)
            self.declined.add(preview_id)
            del self.waiting[preview_id]

    @rule(wish=singles, process=st.integers(0, 1), fault=faults, later=laters)
    def order(self, wish: Wish, process: int, fault: "tuple[Where, What] | None", later: int) -> None:
        new = self.previewed(wish)
        self.wait_and_resume(later)
        self.place(new, process, fault)

    @rule(wish=lists, process=st.integers(0, 1), fault=faults, later=laters)
    def order_list(self, wish: Wish, process: int, fault: "tuple[Where, What] | None", later: int) -> None:
        self.order(wish, process, fault, later)

    @precondition(lambda self: bool(self.placed))
    @rule(wish=changes, process=st.integers(0, 1), fault=faults, later=laters)
    def change(self, wish: Wish, process: int, fault: "tuple[Where, What] | None", later: int) -> None:
        self.order(wish, process, fault, later)

    @precondition(lambda self: bool(self.previews))
    @rule(which=st.integers(0, 99), process=st.integers(0, 1), fault=faults)
    def order_again(self, which: int, process: int, fault: "tuple[Where, What] | None") -> None:
        self.place(self.previews[which % len(self.previews)], process, fault)

    def previewed(self, wish: Wish) -> NewIntent:
        number = next(self.numbers)
        changes = self.changed(wish) if wish.change else {}
        exits = {"exits": wish.exits[number % len(wish.exits)]} if wish.exits else {}
        new = intent(number, **{**wish.terms, **changes, **exits})
        self.previews.append(new)
        self.asked[name_of(request_of(new.terms, new.client_order_id))] += 1
        return new

    def changed(self, wish: Wish) -> dict[str, Any]:
        """Say what is other about an order that takes the place of one that stands, or stood."""
        known = [new for new in self.placed if new.terms.exits is None and not new.terms.amends]
        stand = self.past.standing()
        found = [new for new in known if new.preview_id in stand] or (known if wish.insists else [])
        if not found:
            return resting(wish.terms["quantity"])
        old = found[-1].terms
        changes: dict[str, Any] = {"replaces": found[-1].client_order_id, "side": old.side}
        if wish.change == "amend":
            (size,) = self.past.rows("SELECT quantity FROM intent WHERE id=?", found[-1].preview_id)[0]
            quantity = Quantity(Decimal(size) * wish.quarters / 4)
            same = {name: getattr(old, name) for name in ("price", "kind", "time_in_force")}
            changes |= {**same, "quantity": quantity, "counted": int(old.price * quantity * 100), "amends": True}
        return changes

    def wait_and_resume(self, later: int) -> None:
        """Let time pass before an order; whoever waits at all has somebody resume."""
        self.host.clock.advance(later)
        if later and self.past.is_stopped():
            ledger = self.at(0).desk.ledger
            resume = HostLedger(ledger.store, ledger.owner).resume
            self.portal.call(resume, "a test", self.host.clock.now_ms())

    def place(self, new: NewIntent, process: int, fault: "tuple[Where, What] | None") -> None:
        at = self.at(process)
        if self.portal.call(at.agreements.is_declined, new.preview_id):
            assert new.preview_id in self.declined
            return
        if new.preview_id in self.waiting and self.portal.call(at.agreements.signature, new.preview_id) is None:
            assert not self.waiting[new.preview_id]
            return
        before, is_known, passes = (
            self.host.sends.total(),
            new in self.placed,
            self.past.passes_a_limit(new, self.host.clock.now_ms()),
        )
        is_stopped = self.past.is_stopped()
        stood = self.past.is_open(new.terms.replaces)
        self.host.fault = fault
        try:
            found = self.portal.call(self.placing, at, new)
        except LimitPassed:
            self.seen["limit"] += 1
            assert passes
            assert not is_known
        except TradingIsStopped:
            assert is_stopped
            assert not is_known
        else:
            assert is_known or not (passes or is_stopped)
            assert found.intent.preview_id == new.preview_id
            self.placed += [] if is_known else [new]
            if not is_known and new.terms.replaces and found.intent.state == "REJECTED":
                self.seen[
                    "over before" if not stood else "left alone" if self.past.is_open(new.terms.replaces) else "gone"
                ] += 1
            assert self.host.sends.total() == before + (not is_known and (fault or ("",))[0] != "before")
        self.host.fault = None
        self.settle()

    async def placing(self, at: Process, new: NewIntent) -> Placed:
        return await at.desk.place(new, charges(new.terms, POLICY, new.way), None)

    @precondition(lambda self: bool(self.placed))
    @rule(which=st.integers(0, 99), process=st.integers(0, 1), fault=faults)
    def cancel(self, which: int, process: int, fault: "tuple[Where, What] | None") -> None:
        new = self.preferred(self.placed, which)
        self.cancel_named(new, new.client_order_id, process, fault)

    @precondition(lambda self: any(new.terms.exits for new in self.placed))
    @rule(which=st.integers(0, 99), leg=st.integers(0, 5), process=st.integers(0, 1), fault=faults)
    def cancel_list(self, which: int, leg: int, process: int, fault: "tuple[Where, What] | None") -> None:
        new = self.preferred([each for each in self.placed if each.terms.exits], which)
        # By its own name, or by that of any of its orders.
        legs = new.terms.order_ids(new.client_order_id)
        self.cancel_named(new, legs[leg // 2 % len(legs)] if leg % 2 else new.client_order_id, process, fault)

    def preferred(self, some: list[NewIntent], which: int) -> NewIntent:
        """Choose one of them, of those that stand if any does."""
        stand = self.past.standing()
        some = [new for new in some if new.preview_id in stand] or some
        return some[which % len(some)]

    def cancel_named(self, new: NewIntent, name: str, process: int, fault: "tuple[Where, What] | None") -> None:
        # The ID of a change leads to its order.
        meant = new.terms.replaces if new.terms.amends else new.client_order_id
        was_over = self.past.rows("SELECT final_ms FROM intent WHERE client_order_id=?", meant) != [(None,)]
        self.host.fault = fault

        found = self.portal.call(self.at(process).desk.cancel, "paper", Target(SYMBOL, name), "me")

        self.host.fault = None
        assert not (was_over and found.cancel)
        if not was_over and fault is None:
            assert (found.cancel, found.intent.is_cancelled) == ("CANCELLED", True) or found.intent.state != "ACKED"
        if new.terms.exits and found.cancel == "CANCELLED":
            self.seen["list cancelled" if name == new.client_order_id else "leg cancelled"] += 1
        self.settle()

    @rule()
    def stop(self) -> None:
        self.portal.call(self.at(0).desk.ledger.stop, "a test", "a test", self.host.clock.now_ms(), "paper")

    # What the world does.

    @rule(prints=prints)
    def trade(self, prints: list[Print]) -> None:
        self.portal.call(self.host.print_trades, *prints)
        self.settle()

    @rule(price=PRICES, quantity=st.integers(0, 6))
    def show(self, price: int, quantity: int) -> None:
        self.host.book.show("BUY" if price < 100 else "SELL", price, quantity)
        self.portal.call(self.host.come_round)
        self.settle()

    @rule(ms=st.sampled_from((1, 999, 20_000, MINUTE_MS, 11 * MINUTE_MS, DAY_MS // 2)))
    def time_passes(self, ms: int) -> None:
        self.host.clock.advance(ms)

    @rule(ms=st.sampled_from((-5_000, -500, 500, 5_000)))
    def clock_jumps(self, ms: int) -> None:
        self.host.clock.set_wall(self.host.clock.now_ms() + ms)

    @rule(number=st.integers(1, 4))
    def exchange_is_deaf(self, number: int) -> None:
        self.host.deaf = number

    @precondition(lambda self: len(self.processes) == 1)
    @rule()
    def second_process(self) -> None:
        self.begin()

    @rule(which=st.integers(0, 1), dies=st.booleans())
    def process_ends(self, which: int, *, dies: bool) -> None:
        self.restart(which % len(self.processes), dies=dies)
        self.settle()

    @rule(
        wish=wishes, process=st.integers(0, 1), where=st.sampled_from(get_args(Where)), dies=st.booleans(),
        later=laters,
    )  # fmt: skip
    def process_ends_in_mid_send(self, wish: Wish, process: int, where: Where, later: int, *, dies: bool) -> None:
        new = self.previewed(wish)
        self.wait_and_resume(later)
        if self.past.passes_a_limit(new, self.host.clock.now_ms()) or self.past.is_stopped():
            return
        which = process % len(self.processes)
        self.host.fault, self.host.is_silent = (where, "silence"), False
        asked = self.portal.start_task_soon(self.placing, self.processes[which], new)
        self.portal.call(self.silence)
        self.restart(which, dies=dies)

        with pytest.raises(JournalUnavailable) if dies else nullcontext():
            assert asked.result().intent.state == ("NOT_SENT" if where == "before" else "UNKNOWN")
        self.seen["died" if dies else "ended"] += 1
        self.placed.append(new)
        self.settle()

    async def silence(self) -> None:
        while not self.host.is_silent:
            await anyio.lowlevel.checkpoint()

    # What must hold.

    def settle(self) -> None:
        self.portal.call(self.at(0).settled)

    @invariant()
    def all_is_well(self) -> None:
        type(self).steps += 1
        # https://www.sqlite.org/fileformat.html#file_change_counter
        with self.host.file.open("rb") as file:
            now = file.read(28)[24:]
        if now == self.judged_at:
            return
        self.judged_at = now
        wrong = judge(self.host.file, START, {SYMBOL: (PAIR.base, PAIR.quote)})
        assert not wrong, wrong
        assert not self.host.sends - self.asked
        assert self.past.above_limits() == []
        found = {each.preview_id for each in self.portal.call(self.at(0).agreements.waiting, 0)}
        assert found == {*self.waiting}


def play(examples: int, phases: tuple[Phase, ...]) -> None:
    with TemporaryDirectory() as folder:
        Histories.folder, Histories.steps = Path(folder), 0
        (Histories.folder / "template").mkdir(mode=0o700)

        async def make() -> None:
            async with started(Host(Histories.folder / "template"), matches=True):
                pass

        anyio.run(make)
        run_state_machine_as_test(
            Histories,
            settings=settings(
                max_examples=examples,
                stateful_step_count=STEPS,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
                phases=phases,
                database=None,
            ),
        )


@pytest.mark.timeout(3_600)
def test_whatever_happens_the_exchange_and_the_journal_agree(sized: Callable[[int, int], int]) -> None:
    Histories.desk = Desk
    Histories.seen.clear()

    examples = sized(EXAMPLES, EXAMPLES_OF_A_COMMIT)

    play(examples, (Phase.generate, Phase.shrink))

    assert Histories.steps >= sized(LEAST, LEAST_OF_A_COMMIT)
    wanted = dict.fromkeys(MET, examples // 15) | (dict.fromkeys(RARE, 5) if examples > EXAMPLES else {})
    unmet = {each for each, least in wanted.items() if Histories.seen[each] < least}
    assert not unmet, Histories.seen


@pytest.mark.night
@pytest.mark.parametrize("desk", [Late, Resending])
def test_the_same_histories_see_a_desk_that_is_wrong(desk: type[Desk]) -> None:
    Histories.desk = desk

    with pytest.raises(AssertionError):
        play(EXAMPLES, (Phase.generate,))
