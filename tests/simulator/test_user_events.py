"""What accounts are told of their orders: by whom, in which words, and how it may be spoiled."""

import json
from typing import Any

import httpx2
import pytest

from binance_simulator.account import DemoAccount
from binance_simulator.control import build_app
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.faults import StreamFault
from binance_simulator.market.portfolio import Balance, Portfolio
from binance_simulator.orders.execution import Execution, Holding, Prevention
from binance_simulator.streams.loopback import Loopback
from binance_simulator.streams.user_events import account_position, execution_report
from binance_simulator.streams.ws_api import WsApiSession
from support.clock import FakeClock
from support.executions import PLACED_MS, execution, order_state
from support.ws_api import subscription

CANCEL = {"client_order_id": "mbs-c-01JZQ4TB", "original_client_order_id": "mbs-01JZQ4T7K3M8X2R5V9"}
PREVENTED = Prevention(
    match_id=3, prevented="0.01000000", last_prevented="0.01000000", trade_group_id=1, other_order_id=37,
    other_symbol="BTCUSDT", other_prevented="0.01000000", other_price="115000.00000000", other_value="1150.00000000",
    taker=True,
)  # fmt: skip
PART: dict[str, Any] = {
    "kind": "TRADE", "last_quantity": "0.00400000", "last_price": "115000.00000000", "last_value": "460.00000000",
    "trade_id": 5120330001, "maker": True, "commission": "0.00000400", "commission_asset": "BTC",
}  # fmt: skip
SAID: dict[str, Execution] = {
    "executionReport_new": execution(order_state(), 90000101, "h"),
    "executionReport_partial_trade": execution(
        order_state(status="PARTIALLY_FILLED", executed="0.00400000", executed_value="460.00000000"),
        90000102, "h", **PART,
    ),
    "executionReport_canceled": execution(order_state(status="CANCELED"), 90000120, "h", kind="CANCELED", **CANCEL),
    "executionReport_expired_ioc": execution(
        order_state(status="EXPIRED", time_in_force="IOC", expiry_reason="UNFILLED_IOC_QUANTITY_EXPIRED"),
        90000130, "h", kind="EXPIRED",
    ),
    "executionReport_rejected": execution(
        order_state(status="REJECTED"), 90000140, "h",
        kind="REJECTED", reject_reason="INSUFFICIENT_BALANCES",
    ),
    "executionReport_stp": execution(
        order_state(status="EXPIRED_IN_MATCH"), 90000150, "h", kind="TRADE_PREVENTION", prevention=PREVENTED
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_a_report_is_written_as_its_example(stream_examples: dict[str, Any], name: str) -> None:
    expected = stream_examples["user_events"][name]["event"]

    assert json.dumps(execution_report(SAID[name])) == json.dumps(expected | {"E": PLACED_MS})


def test_balances_are_written_as_their_example(stream_examples: dict[str, Any]) -> None:
    expected = stream_examples["user_events"]["outboundAccountPosition"]["event"]
    held = tuple(Holding(each["a"], each["f"], each["l"]) for each in expected["B"])

    said = account_position(execution(order_state(), 1, "h", holdings=held))

    assert list(said) == list(expected)
    assert said["B"] == expected["B"]


class Line:
    """One connection, and who is subscribed on it."""

    def __init__(self, exchange: SimulatedExchange, clock: FakeClock) -> None:
        self.exchange, self.clock = exchange, clock
        self.session = WsApiSession(exchange)

    def subscribe(self, account: DemoAccount) -> dict[str, Any]:
        (answer,) = self.session.receive(subscription(account, self.exchange.now_ms()), self.clock.now_ms())
        return json.loads(answer)

    def heard(self) -> list[tuple[int, Any]]:
        """Return the numbers of what is told now, each with its subscription; the kind where there is none."""
        frames = [json.loads(each) for each in self.session.due(self.clock.now_ms())]
        return [(each["subscriptionId"], each["event"].get("I", each["event"]["e"])) for each in frames]


@pytest.fixture
def line(exchange: SimulatedExchange, clock: FakeClock) -> Line:
    return Line(exchange, clock)


def happen(exchange: SimulatedExchange, number: int, account: DemoAccount | None = None, **changes: object) -> None:
    holder = (account or exchange.account).api_key
    order = order_state(updated_ms=exchange.now_ms())
    exchange.executions.add(execution(order, number, holder, **changes))


def test_an_account_is_told_of_its_own_orders_from_its_subscription_on(line: Line) -> None:
    exchange, guest = line.exchange, DemoAccount(99)
    exchange.guests.append(Guest(guest, Portfolio((Balance("USDT", "1.0", "0.0"),))))
    happen(exchange, 1)
    assert line.subscribe(exchange.account)["result"] == {"subscriptionId": 0}
    assert line.subscribe(exchange.account)["error"]["code"] == -2035
    happen(exchange, 2)
    assert line.subscribe(guest)["result"] == {"subscriptionId": 1}
    happen(exchange, 3, guest)
    happen(exchange, 4, holdings=(Holding("BTC", "1.00000000", "0.00000000"),))

    assert line.heard() == [(0, 2), (0, 4), (0, "outboundAccountPosition"), (1, 3)]
    assert line.heard() == []
    assert exchange.hub.user_events == 4


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("drop", [2, 3]), ("duplicate", [1, 1, 2, 3]), ("swap", [2, 1, 3])],
)
def test_an_event_is_lost_doubled_or_overtaken(line: Line, kind: Any, expected: list[int]) -> None:  # noqa: ANN401
    line.subscribe(line.exchange.account)
    line.exchange.hub.faults.add(StreamFault(kind=kind, stream="user@executionReport"))
    for number in (1, 2, 3):
        happen(line.exchange, number)

    assert line.heard() == [(0, each) for each in expected]


def test_events_that_are_delayed_come_later(line: Line) -> None:
    line.subscribe(line.exchange.account)
    line.exchange.hub.user_delay_ms = 500
    happen(line.exchange, 1)
    assert line.heard() == []
    line.clock.advance(499)
    assert line.heard() == []
    line.exchange.hub.user_delay_ms = 0
    happen(line.exchange, 2)

    assert line.heard() == [(0, 2)]
    line.clock.advance(1)
    assert line.heard() == [(0, 1)]


def test_a_subscription_that_is_ended_says_so_and_no_more(line: Line) -> None:
    line.subscribe(line.exchange.account)
    line.exchange.hub.faults.add(StreamFault(kind="terminated"))
    happen(line.exchange, 1)

    assert line.heard() == [(0, 1), (0, "eventStreamTerminated")]
    happen(line.exchange, 2)
    assert line.heard() == []
    assert line.subscribe(line.exchange.account)["result"] == {"subscriptionId": 1}


def test_one_who_unsubscribes_is_told_that_it_is_over(line: Line) -> None:
    line.subscribe(line.exchange.account)
    line.session.receive('{"id":1,"method":"userDataStream.unsubscribe"}', line.clock.now_ms())
    happen(line.exchange, 1)

    assert line.heard() == [(0, "eventStreamTerminated")]


def test_a_revoked_key_is_told_without_an_id(line: Line) -> None:
    line.subscribe(line.exchange.account)
    line.exchange.hub.faults.add(StreamFault(kind="revoked"))

    (frame,) = line.session.due(line.clock.now_ms())

    told = json.loads(frame)
    assert (told["id"], told["status"], told["error"]["code"]) == (None, 401, -2015)


@pytest.mark.parametrize(("kind", "ending"), [("cut", "cut"), ("silent", None)])
def test_a_connection_ends_or_falls_silent_at_an_event(line: Line, kind: Any, ending: str | None) -> None:  # noqa: ANN401
    line.subscribe(line.exchange.account)
    line.exchange.hub.faults.add(StreamFault(kind=kind, stream="user@*"))
    happen(line.exchange, 1)

    assert line.heard() == []
    assert line.session.ending == ending
    happen(line.exchange, 2)
    assert (line.heard() == []) == (kind == "silent")


@pytest.mark.anyio
async def test_an_event_reaches_whoever_waits_for_it_at_once(exchange: SimulatedExchange) -> None:
    exchange.hub.by_hand = True
    connection = await Loopback(exchange).connect("ws://any/ws-api/v3")
    await connection.send(subscription(exchange.account, exchange.now_ms()))
    await connection.recv()
    happen(exchange, 7)

    assert json.loads(await connection.recv())["event"]["I"] == 7


@pytest.mark.anyio
async def test_events_are_steered_and_counted_by_control(exchange: SimulatedExchange, line: Line) -> None:
    transport = httpx2.ASGITransport(build_app(exchange), client=("127.0.0.1", 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://exchange.test") as http:
        changed = await http.post("/control/streams", json={"user_delay_ms": 250})
        line.subscribe(exchange.account)
        happen(exchange, 1)
        line.clock.advance(250)
        line.heard()
        told = await http.get("/control/streams")
        struck = await http.post("/control/streams/faults", json=[{"kind": "terminated"}, {"kind": "revoked"}])

    assert changed.json()["user_delay_ms"] == 250
    assert struck.json() == {"faults": 0}
    assert exchange.hub.faults.endings == {"terminated": 1, "revoked": 1}
    assert told.json()["user_events"] == 1
