"""An account's stream on which what is told makes no sense, thousands of times; what is taken from it is judged.

The types of members are listed here independently of the product.
"""

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

import anyio
import msgspec

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.orders import Report
from mcp_binance_server.exchange.dialing import Pacer
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.user_stream import METHOD, UserStream
from mcp_binance_server.state.engine import Reserves
from mcp_binance_server.state.memory import MemoryEngine
from support.breaking import BAD_TEXTS, BAD_VALUES, BAD_WHOLES, spoilt
from support.desk import NETWORK, Desk, Loop
from support.fixtures import DATA
from support.mutating import mutant
from support.orders.answers import BAD_WORDS, NOTHING, Body
from support.orders.verdict import LONGEST_WORD, is_whole, number_of, object_of
from support.stepped import SteppedClock

URL = "ws://exchange.test/ws-api/v3"
SUBSCRIBED = msgspec.json.encode({"id": METHOD, "status": 200, "result": {"subscriptionId": 0}})
REPORT = "executionReport"
NUMBERS = ("q", "p", "P", "z", "Z", "l")
WHOLES = ("i", "I", "t", "E", "T", "O")
BALANCES = ("f", "l")
OTHERS: tuple[Body, ...] = (
    {"e": "executionreport"}, {"e": "listStatus"}, {"z": "99999999.00000000"}, {"l": "5.00000000"}, {"t": -1},
    {"X": "FILLED"}, {"C": "\u202e"}, {"x": "x" * 5_000}, {"s": "A\nB"}, {"eR": 7}, {"E": 10**13}, {"I": 0},
    {"q": NOTHING}, {"z": NOTHING}, {"Z": NOTHING},
)  # fmt: skip
SHARES = {"true": 1, "senseless": 5, "other": 3, "lacking": 1, "bytes": 5, "torn": 1, "frame": 2}


def told_frames() -> list[Body]:
    """Return one frame of each kind that an account is told; that the stream ends is not among them."""
    told: dict[str, Body] = msgspec.json.decode((DATA / "binance" / "payloads.json").read_bytes())["user_events"]
    return [frame for name, frame in told.items() if name != "eventStreamTerminated"]


@dataclass
class UserBreaker:
    """Makes frames of an account's stream, the same in every run of a seed."""

    seed: int
    random: Random = field(init=False)
    frames: list[Body] = field(default_factory=told_frames)

    def __post_init__(self) -> None:
        self.random = Random(f"user events {self.seed}")

    def frame(self) -> tuple[str, bytes]:
        """Return what was done to a frame, and its bytes."""
        random, frame = self.random, deepcopy(self.random.choice(self.frames))
        how = random.choices([*SHARES], [*SHARES.values()])[0]
        event: Body = frame["event"]
        if how == "senseless":
            self._break(event)
        elif how == "other":
            event.update(self.random.choice(OTHERS))
        elif how == "lacking":
            for name in random.sample([*event], random.randint(1, 3)):
                del event[name]
        elif how == "frame":
            frame = self._frame(frame)
        written = msgspec.json.encode(frame)
        if how == "bytes":
            written = mutant(random, written)
        return how, spoilt(written, random) if how == "torn" else written

    def _break(self, event: Body) -> None:
        random, name = self.random, self.random.choice([*event])
        if name == "B" and event["e"] == "outboundAccountPosition":
            random.choice(event["B"])[random.choice(BALANCES)] = random.choice([*BAD_TEXTS, *BAD_VALUES])
        elif name in NUMBERS:
            event[name] = random.choice([*BAD_TEXTS, *BAD_VALUES, "-1", "-0.00000001"])
        elif name in WHOLES:
            event[name] = random.choice(BAD_WHOLES)
        else:
            event[name] = random.choice(BAD_WORDS)

    def _frame(self, frame: Body) -> Body:
        changes: list[Body] = [
            {"subscriptionId": 1}, {"subscriptionId": -1}, {"subscriptionId": "0"}, {"subscriptionId": None},
            {"event": None}, {"event": []}, {"event": [frame["event"]]}, {"event": frame}, {"status": 200},
            {"id": METHOD}, {"id": METHOD, "status": 200, "result": {"subscriptionId": 1}},
            {"error": {"code": -1000, "msg": "x"}}, {"error": None}, {"result": frame["event"]},
        ]  # fmt: skip
        return {**frame, **self.random.choice(changes)}


@dataclass
class UserStorm:
    """What was taken from a stream: reports by what was done to the frame, what was missed, and what is wrong."""

    reports: Counter[str] = field(default_factory=Counter[str])
    frames: Counter[str] = field(default_factory=Counter[str])
    missed: int = 0
    lost: int = 0
    defects: list[str] = field(default_factory=list[str])
    now: tuple[str, bytes] = ("", b"")

    @property
    def events(self) -> int:
        return self.frames.total()

    def on_subscribed(self) -> None:
        """Nothing is to be read again."""

    def on_missed(self) -> None:
        self.missed += 1

    def on_lost(self) -> None:
        self.lost += 1

    def on_report(self, report: Report) -> None:
        how, frame = self.now
        self.reports[how] += 1
        if found := misread(report, object_of(frame)):
            self.defects.append(f"{found} in {frame[:600]!r}")


def misread(report: Report, frame: Body) -> list[str]:
    """Return what a report claims that its frame does not bear out."""
    if not isinstance(frame.get("event"), dict) or frame.get("subscriptionId") != 0:
        return ["no event of this subscription"]
    event: Body = frame["event"]
    order = report.order
    read = {
        "q": order.quantity, "p": order.price, "P": order.stop_price, "z": order.executed, "Z": order.quote_spent,
    }  # fmt: skip
    said = {name: number_of(event.get(name, "0" if name == "P" else None)) for name in read}
    found = [f"{name} is {value!r}" for name, value in read.items() if value != said[name]]
    ids = {
        "i": order.order_id,
        "I": report.execution_id,
        "T": order.updated_ms,
        "O": order.created_ms,
        "E": report.at_ms,
    }
    found += [
        f"{name} is {value!r}" for name, value in ids.items() if not is_whole(event.get(name)) or event[name] != value
    ]
    found += [] if event.get("e") == REPORT else ["another event"]
    found += [] if order.executed <= order.quantity and report.traded <= order.executed else ["more than there was"]
    if report.trade_id is not None:
        found += (
            [] if (report.trade_id, report.traded) == (event.get("t"), number_of(event.get("l"))) else ["the trade"]
        )
    else:
        found += [] if report.traded == Decimal(0) else ["a trade that is none"]
    words = order.symbol, order.side, order.kind, order.status, order.client_order_id, report.event, report.reason
    return [*found, *(f"the word {each!r}" for each in words if len(each) > LONGEST_WORD or not each.isprintable())]


@dataclass
class StormyConnection:
    """Says yes to a subscription, and then one frame after another."""

    frames: Iterator[tuple[str, bytes]]
    storm: UserStorm
    over: anyio.Event
    is_subscribed: bool = False

    async def send(self, text: str) -> None:
        assert METHOD in text

    async def recv(self) -> bytes:
        if not self.is_subscribed:
            self.is_subscribed = True
            return SUBSCRIBED
        if (frame := next(self.frames, None)) is None:
            self.over.set()
            await anyio.sleep_forever()
            raise AssertionError
        self.storm.now = frame
        self.storm.frames[frame[0]] += 1
        return frame[1]

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class StormyUserDialer:
    """Opens such connections, each where the last one ended."""

    frames: Iterator[tuple[str, bytes]]
    storm: UserStorm
    over: anyio.Event

    async def connect(self, url: str) -> StormyConnection:
        assert url == URL
        return StormyConnection(self.frames, self.storm, self.over)


async def storm_of_user_events(count: int, storm: UserStorm, seed: int = 6) -> None:
    """Send mutants of what an account is told; only what its bytes say may be taken from any of them."""
    clock, breaker, over = SteppedClock(), UserBreaker(seed), anyio.Event()
    exchange = SimulatedExchange(clock)
    engine = MemoryEngine(clock, reserves=Reserves.none())
    await engine.start()
    channel = Channel(deadline_secs=3, transport=Loop(exchange))
    frames = (breaker.frame() for _ in range(count))
    dialer = StormyUserDialer(frames, storm, over)
    caller = Desk(engine, channel, clock, NETWORK).caller
    keys = Principal.of(Credentials(exchange.account.api_key, exchange.account.secret_key))
    stream = UserStream(URL, dialer, Pacer(clock, Random(1)), caller, keys, Random(1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stream.run, storm)
        await over.wait()
        tasks.cancel_scope.cancel()
    await channel.close()
    await engine.close()
