"""The user stream: what it signs, whom it believes, when it comes again and when it does not."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import anyio
import msgspec
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.ws_api import WsApiSession
from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.orders import Report
from mcp_binance_server.errors import InvalidCredentials
from mcp_binance_server.exchange.dialing import Pacer
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.streams import HOUR_MS
from mcp_binance_server.exchange.spot.user_stream import METHOD, UserStream
from mcp_binance_server.state.engine import Reserves
from mcp_binance_server.state.memory import MemoryEngine
from support.desk import NETWORK, Desk, Loop
from support.scripted import ScriptedConnection, ScriptedDialer
from support.stepped import SteppedClock, settled

pytestmark = pytest.mark.anyio

URL = "ws://exchange.test/ws-api/v3"
EXAMPLES = msgspec.json.decode(
    (Path(__file__).parents[1] / "data/binance/payloads.json").read_bytes(), type=dict[str, Any]
)["user_events"]
SUBSCRIBED = {"id": METHOD, "status": 200, "result": {"subscriptionId": 0}}


def encoded(body: object) -> bytes:
    return msgspec.json.encode(body)


def refused(code: int, status: int = 400, identity: str | None = METHOD, **more: object) -> bytes:
    return encoded({"id": identity, "status": status, "error": {"code": code, "msg": "no", **more}})


def event(**changes: object) -> bytes:
    frame = EXAMPLES["executionReport_partial_trade"]
    return encoded(frame | {"event": frame["event"] | changes})


@dataclass
class Heard:
    """A listener that remembers."""

    said: list[str] = field(default_factory=list[str])
    reports: list[Report] = field(default_factory=list[Report])

    def on_subscribed(self) -> None:
        self.said.append("subscribed")

    def on_report(self, report: Report) -> None:
        self.reports.append(report)

    def on_missed(self) -> None:
        self.said.append("missed")

    def on_lost(self) -> None:
        self.said.append("lost")


@dataclass
class Floor:
    """A stream on connections of a test."""

    stream: UserStream
    dialer: ScriptedDialer
    clock: SteppedClock
    exchange: SimulatedExchange
    heard: Heard
    errors: list[InvalidCredentials] = field(default_factory=list[InvalidCredentials])

    @property
    def newest(self) -> ScriptedConnection:
        return self.dialer.connections[-1]

    async def say(self, frame: object, connection: ScriptedConnection | None = None) -> None:
        (connection or self.newest).say(frame if isinstance(frame, bytes) else encoded(frame))
        await settled()

    async def pass_time(self, duration_ms: float, step_ms: float = 250) -> None:
        await self.clock.run(duration_ms, lambda: None, step_ms=step_ms)

    async def run(self) -> None:
        try:
            await self.stream.run(self.heard)
        except InvalidCredentials as error:
            self.errors.append(error)


@asynccontextmanager
async def opened(credentials: Callable[[SimulatedExchange], Credentials] | None = None) -> AsyncGenerator[Floor]:
    clock, dialer = SteppedClock(), ScriptedDialer(URL)
    exchange = SimulatedExchange(clock)
    engine = MemoryEngine(clock, reserves=Reserves.none())
    await engine.start()
    channel = Channel(deadline_secs=3, transport=Loop(exchange))
    account = exchange.account
    own = Credentials(account.api_key, account.secret_key) if credentials is None else credentials(exchange)
    caller = Desk(engine, channel, clock, NETWORK).caller
    stream = UserStream(URL, dialer, Pacer(clock, Random(1)), caller, Principal.of(own), Random(1))
    floor = Floor(stream, dialer, clock, exchange, Heard())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(floor.run)
        await settled()
        try:
            yield floor
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await channel.close()
                await engine.close()


@pytest.mark.parametrize("kind", ["hmac", "ed25519", "rsa"])
async def test_any_kind_of_key_signs_what_the_exchange_takes(kind: str) -> None:
    def own(exchange: SimulatedExchange) -> Credentials:
        account = exchange.account
        return {
            "hmac": Credentials(account.api_key, account.secret_key),
            "ed25519": Credentials(account.ed25519_api_key, account.ed25519_private_key_pem),
            "rsa": Credentials(account.rsa_api_key, account.rsa_private_key_pem),
        }[kind]

    async with opened(own) as floor:
        (request,) = floor.newest.sent
        answers = WsApiSession(floor.exchange).receive(encoded(request).decode(), floor.clock.now_ms())
        assert request["method"] == METHOD
        await floor.say(answers[0].encode())

        assert floor.heard.said == ["subscribed"]
        await floor.say(event())
        assert [each.trade_id for each in floor.heard.reports] == [5120330001]


async def test_every_documented_report_is_read() -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        for name, frame in EXAMPLES.items():
            await floor.say(frame)
            assert name.startswith("executionReport") == bool(floor.heard.reports), name
            floor.heard.reports.clear()

        assert "missed" not in floor.heard.said


async def test_a_cancel_is_told_under_the_id_of_the_order() -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        await floor.say(EXAMPLES["executionReport_canceled"])
        await floor.say(EXAMPLES["executionReport_expired_ioc"])
        await floor.say(EXAMPLES["executionReport_rejected"])
        await floor.say(EXAMPLES["executionReport_filled"])

        cancelled, expired, rejected, filled = floor.heard.reports
        assert (cancelled.order.client_order_id, cancelled.event) == ("mbs-01JZQ4T7K3M8X2R5V9", "CANCELED")
        assert (cancelled.trade_id, cancelled.traded, cancelled.reason) == (None, 0, "")
        assert expired.reason == "UNFILLED_IOC_QUANTITY_EXPIRED"
        assert rejected.reason == "INSUFFICIENT_BALANCES"
        assert (filled.order.status, filled.order.executed, filled.order.quote_spent) == (
            "FILLED", Decimal("0.01"), Decimal(1150),
        )  # fmt: skip
        assert (filled.traded, filled.execution_id, filled.at_ms) == (Decimal("0.006"), 90000110, 1784592123457)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xff{}",
        b"null",
        b"[" * 200_000,
        b"{}",
        event(q="NaN"),
        event(z="1e9"),
        event(z="0.02000000"),
        event(l="0.00500000"),
        event(t=-2),
        event(I=2**70),
        event(T="1"),
        event(i=None),
    ],
    ids=range(13),
)
async def test_what_cannot_be_read_is_told_as_missed_and_ends_nothing(frame: bytes) -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        await floor.say(frame)
        await floor.say(event())

        assert floor.heard.said == ["subscribed", "missed"]
        assert len(floor.heard.reports) == 1
        assert floor.stream.counts.unreadable == 1


@pytest.mark.parametrize(
    "frame",
    [
        {"subscriptionId": 0, "event": {"e": "outboundAccountPosition", "E": 1, "u": 1, "B": []}},
        {"subscriptionId": 0, "event": {"e": "somethingNew", "q": "NaN"}},
        {"subscriptionId": 1, "event": EXAMPLES["executionReport_new"]["event"]},
        {"event": EXAMPLES["executionReport_new"]["event"]},
        {"id": "another", "status": 200, "result": {}},
    ],
    ids=range(5),
)
async def test_other_events_and_other_subscriptions_are_left_alone(frame: object) -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        await floor.say(frame)

        assert (floor.heard.said, floor.heard.reports) == (["subscribed"], [])


@pytest.mark.parametrize("ending", ["cut", "terminated"])
async def test_a_stream_that_ends_is_opened_again(ending: str) -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        if ending == "cut":
            floor.newest.cut()
        else:
            await floor.say({"subscriptionId": 0, "event": {"e": "eventStreamTerminated", "E": 1}})
        await floor.pass_time(1_500)
        first, second = floor.dialer.connections
        await floor.say(SUBSCRIBED)

        assert first.is_closed
        assert floor.heard.said == ["subscribed", "lost", "subscribed"]
        assert second.sent[0]["params"]["timestamp"] > first.sent[0]["params"]["timestamp"]


async def test_a_notice_of_shutdown_opens_the_successor_before_the_old_connection_is_left() -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        await floor.say({"event": {"e": "serverShutdown", "E": 1}})
        old, new = floor.dialer.connections
        await floor.say(event(), old)
        assert not old.is_closed
        await floor.say(SUBSCRIBED, new)
        await floor.pass_time(2_000)

        assert (old.is_closed, new.is_closed) == (True, False)
        assert floor.heard.said == ["subscribed", "subscribed"]
        assert (len(floor.heard.reports), floor.stream.counts.renewed) == (1, 1)


async def test_a_day_is_never_reached_and_a_failed_relief_is_tried_again() -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        await floor.pass_time(22 * HOUR_MS, step_ms=60_000)
        assert len(floor.dialer.connections) == 1
        floor.dialer.fails = True
        await floor.pass_time(HOUR_MS, step_ms=60_000)
        assert not floor.newest.is_closed
        floor.dialer.fails = False
        while len(floor.dialer.connections) == 1:
            await floor.pass_time(1_000)
        old, new = floor.dialer.connections
        await floor.say(SUBSCRIBED, new)
        await floor.pass_time(2_000)

        assert (old.is_closed, new.is_closed) == (True, False)
        assert "lost" not in floor.heard.said


@pytest.mark.parametrize("code", [-2015, -2014, -1022])
async def test_a_key_that_is_refused_is_not_tried_again(code: int) -> None:
    async with opened() as floor:
        await floor.say(refused(code, 401))
        await floor.pass_time(600_000, step_ms=1_000)

        assert [each.exchange_code for each in floor.errors] == [code]
        assert floor.dialer.attempts == 1


async def test_a_key_that_is_revoked_later_ends_the_stream() -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        await floor.say(refused(-2015, 401, None))
        await floor.pass_time(60_000, step_ms=1_000)

        assert len(floor.errors) == 1
        assert floor.heard.said == ["subscribed", "lost"]
        assert floor.dialer.attempts == 1


async def test_a_key_that_is_revoked_by_the_day_of_relief_ends_the_stream() -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        await floor.say({"event": {"e": "serverShutdown", "E": 1}})
        await floor.say(refused(-2015, 401))
        await floor.pass_time(60_000, step_ms=1_000)

        assert len(floor.errors) == 1
        assert floor.dialer.attempts == 2


async def test_a_wrong_clock_is_read_anew_before_the_next_try() -> None:
    async with opened() as floor:
        floor.exchange.skew_ms = 20_000
        await floor.say(refused(-1021))
        await floor.pass_time(1_500)

        first, second = (each.sent[0]["params"]["timestamp"] for each in floor.dialer.connections)
        assert 20_000 <= second - first <= 22_000


async def test_a_limit_stops_everybody_until_the_moment_that_is_told() -> None:
    async with opened() as floor:
        told = {"serverTime": floor.clock.now_ms(), "retryAfter": floor.clock.now_ms() + 90_000}
        await floor.say(refused(-1003, 429, data=told))
        await floor.pass_time(89_000, step_ms=500)
        assert floor.dialer.attempts == 1
        await floor.pass_time(6_000, step_ms=500)

        assert floor.dialer.attempts == 2


async def test_an_answer_without_a_success_is_no_subscription() -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED | {"status": 503})
        await floor.pass_time(2_000)

        assert floor.dialer.attempts == 2
        assert floor.heard.said == []


async def test_a_subscription_that_is_not_answered_is_given_up() -> None:
    async with opened() as floor:
        await floor.pass_time(9_000)
        assert floor.dialer.attempts == 1
        await floor.pass_time(3_000)

        assert floor.dialer.attempts == 2
        assert floor.heard.said == []


async def test_a_host_that_fails_is_tried_less_than_the_limit_allows() -> None:
    async with opened() as floor:
        floor.dialer.fails = True
        floor.newest.cut()
        attempts: list[int] = []
        for _ in range(6):
            before = floor.dialer.attempts
            await floor.pass_time(300_000, step_ms=500)
            attempts.append(floor.dialer.attempts - before)

        assert max(attempts) <= 200
        assert attempts[-1] >= 1


async def test_what_is_told_of_a_list_as_a_whole_is_neither_a_report_nor_missed() -> None:
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        for kind in ("EXEC_STARTED", "UPDATED", "ALL_DONE", "RESPONSE"):
            frame = EXAMPLES["listStatus"]
            await floor.say(frame | {"event": frame["event"] | {"l": kind}})
        await floor.say(event(g=88_100))

        assert floor.heard.said == ["subscribed"]
        assert len(floor.heard.reports) == 1


async def test_an_order_of_a_list_is_told_by_its_own_id_before_it_has_a_quantity() -> None:
    waits = {"c": "mbt-abcdefghijklmnopqrst-a", "x": "NEW", "X": "PENDING_NEW", "q": "0.00000000", "g": 88_100}
    nothing = {"l": "0.00000000", "z": "0.00000000", "Z": "0.00000000", "t": -1}
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        await floor.say(event(**waits, **nothing))

        assert floor.heard.said == ["subscribed"]
        (report,) = floor.heard.reports
    assert (report.order.client_order_id, report.order.status) == ("mbt-abcdefghijklmnopqrst-a", "PENDING_NEW")
    assert (report.order.quantity, report.traded) == (0, 0)


@pytest.mark.parametrize("renamed", ["mbs-01JZQ4T7K3M8X2R5V9", "somebody-else-s-choice"])
async def test_an_order_that_was_made_smaller_is_told_under_the_id_it_had(renamed: str) -> None:
    frame = EXAMPLES["executionReport_replaced_amend"]
    async with opened() as floor:
        await floor.say(SUBSCRIBED)
        await floor.say(frame | {"event": frame["event"] | {"c": renamed}})

        (report,) = floor.heard.reports
    assert (report.event, report.order.client_order_id) == ("REPLACED", "mbs-01JZQ4T7K3M8X2R5V9")
    assert (report.order.quantity, report.order.executed) == (Decimal("0.008"), Decimal("0.004"))
