"""What a client may say on a stream, the limits of a connection, and what goes wrong on demand."""

import json
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import StreamFault, StreamKind
from binance_simulator.streams.subscriptions import StreamSession
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

DEPTH = "btcusdt@depth@100ms"


@pytest.fixture
def session(exchange: SimulatedExchange) -> StreamSession:
    return StreamSession(exchange, combined=True)


def said(session: StreamSession, message: object, at_ms: int = 0) -> dict[str, Any]:
    text = message if isinstance(message, str) else json.dumps(message)
    (answer,) = session.receive(text, at_ms)
    return json.loads(answer)


async def test_control_messages_are_answered_as_in_the_examples(
    session: StreamSession, stream_examples: dict[str, Any]
) -> None:
    control = stream_examples["stream_control"]

    for place, name in enumerate(("subscribe", "unsubscribe", "list", "set_combined", "get_combined")):
        assert said(session, control[name]["send"], place * 1000) == control[name]["reply"]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ({"method": "GET_PROPERTY", "params": ["speed"], "id": 6}, {"code": 0, "msg": "Unknown property", "id": 6}),
        (
            {"method": "SET_PROPERTY", "params": ["combined", "yes"]},
            {"code": 1, "msg": "Invalid value type: expected Boolean"},
        ),
        (
            {"method": "SET_PROPERTY", "params": ["combined"]},
            {"code": 1, "msg": "Invalid value type: expected Boolean"},
        ),
        (
            {"method": "SET_PROPERTY", "params": [1, True]},
            {"code": 2, "msg": "Invalid request: property name must be a string"},
        ),
        (
            {"method": "SET_PROPERTY", "params": ["combined", True, 1]},
            {"code": 2, "msg": "Invalid request: too many parameters"},
        ),
        ("nonsense", {"code": 3, "msg": "Invalid JSON: expected value at line 1 column 1"}),
    ],
)
async def test_a_wrong_message_is_refused_in_the_words_of_the_examples(
    session: StreamSession, stream_examples: dict[str, Any], message: object, answer: dict[str, object]
) -> None:
    assert answer in stream_examples["stream_control"]["errors"]
    assert said(session, message) == answer


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("[]", "expected a JSON object"),
        ({"id": 1}, "missing field `method`"),
        ({"method": "DANCE"}, "unknown variant `DANCE`, expected one of `SUBSCRIBE`, `UNSUBSCRIBE`"),
        ({"method": "SUBSCRIBE", "params": "btcusdt@trade"}, "params must be an array"),
        ({"method": "SUBSCRIBE", "params": [1]}, "stream name must be a string"),
        ({"method": "LIST_SUBSCRIPTIONS", "id": 1.5}, "request ID must be"),
        ({"method": "LIST_SUBSCRIPTIONS", "id": "x" * 37}, "request ID must be"),
        ({"method": "LIST_SUBSCRIPTIONS", "id": True}, "request ID must be"),
    ],
)
async def test_an_invalid_request_says_what_is_wrong(session: StreamSession, message: object, words: str) -> None:
    answer = said(session, message)

    assert answer["code"] == 2
    assert words in answer["msg"]


async def test_subscriptions_begin_and_end_on_request(session: StreamSession, clock: FakeClock) -> None:
    assert said(session, {"method": "SUBSCRIBE", "params": [DEPTH, DEPTH], "id": "abc"}) == {
        "result": None,
        "id": "abc",
    }
    clock.advance(200)
    begun = session.due(clock.now_ms())
    said(session, {"method": "SET_PROPERTY", "params": ["combined", False], "id": None})
    clock.advance(200)
    raw = session.due(clock.now_ms())
    said(session, {"method": "UNSUBSCRIBE", "params": [DEPTH, "btcusdt@trade"], "id": 2})
    clock.advance(200)

    assert session.due(clock.now_ms()) == []
    assert len(begun) == len(raw) == 2
    assert begun[0].startswith('{"stream":')
    assert raw[0].startswith('{"e":"depthUpdate"')


async def test_the_sixth_message_in_a_second_ends_the_connection(session: StreamSession) -> None:
    ping = json.dumps({"method": "LIST_SUBSCRIPTIONS", "id": 1})

    patient = [session.receive(ping, 200 * place) for place in range(20)]
    hasty = session.receive(ping, 3_801)

    assert all(patient)
    assert (hasty, session.ending) == ([], "messages")


async def test_a_connection_holds_1024_streams(session: StreamSession) -> None:
    session.subscribe([f"s{number}@trade" for number in range(1024)])
    assert session.ending is None

    answer = session.receive('{"method":"SUBSCRIBE","params":["btcusdt@trade"],"id":1}', 0)

    assert (answer, session.ending) == ([], "streams")


async def test_a_connection_lives_as_long_as_it_may(
    exchange: SimulatedExchange, session: StreamSession, clock: FakeClock
) -> None:
    exchange.hub.life_ms = 5_000
    clock.advance(4_999)
    session.due(clock.now_ms())
    assert session.ending is None

    clock.advance(1)
    session.due(clock.now_ms())

    assert session.ending == "life"


@pytest.mark.parametrize("combined", [True, False])
async def test_a_shutdown_is_announced_once_to_every_connection(
    exchange: SimulatedExchange, clock: FakeClock, stream_examples: dict[str, Any], *, combined: bool
) -> None:
    sessions = [StreamSession(exchange, combined=combined) for _ in range(2)]
    exchange.hub.faults.add(StreamFault(kind="shutdown"))

    told = [session.due(clock.now_ms()) for session in sessions]

    example = stream_examples["streams"]["serverShutdown"]["combined" if combined else "raw"]
    assert [json.loads(text) for (text,) in told] == [example, example]
    assert sessions[0].due(clock.now_ms()) == []
    assert StreamSession(exchange, combined=combined).due(clock.now_ms()) == []


def struck(exchange: SimulatedExchange, clock: FakeClock, fault: StreamFault) -> tuple[list[str], list[str]]:
    """Return twelve events as they are, and as they arrive with the fault."""
    true, spoiled = (StreamSession(exchange, combined=False) for _ in range(2))
    true.subscribe([DEPTH])
    spoiled.subscribe([DEPTH])
    clock.advance(1_200)
    right = true.due(clock.now_ms())
    exchange.hub.faults.add(fault)
    return right, spoiled.due(clock.now_ms())


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        ("drop", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("duplicate", [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("swap", [1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("silent", []),
        ("cut", []),
    ],
)
async def test_a_fault_strikes_one_event_and_is_gone(
    exchange: SimulatedExchange, clock: FakeClock, kind: StreamKind, order: list[int]
) -> None:
    right, arrived = struck(exchange, clock, StreamFault(kind=kind, stream="btcusdt@depth*"))

    assert len(right) == 12
    assert arrived == [right[place] for place in order]
    assert exchange.hub.faults.pending() == []


async def test_a_gap_loses_as_many_ids_as_asked_for_and_no_event_more(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    right, arrived = struck(exchange, clock, StreamFault(kind="gap", ids=3))

    first, lost = json.loads(right[0])["U"], json.loads(arrived[0])["U"]
    assert lost - first >= 3
    assert arrived == right[len(right) - len(arrived) :]
    assert json.loads(right[-len(arrived) - 1])["U"] - first < 3


async def test_a_crossed_event_bids_above_every_ask(exchange: SimulatedExchange, clock: FakeClock) -> None:
    right, arrived = struck(exchange, clock, StreamFault(kind="crossed"))

    assert json.loads(arrived[0])["b"] == [["99999999.00000000", "1.00000000"]]
    assert arrived[1:] == right[1:]


async def test_a_malformed_event_is_half_an_event(exchange: SimulatedExchange, clock: FakeClock) -> None:
    right, arrived = struck(exchange, clock, StreamFault(kind="malformed", times=2))

    assert [len(text) for text in arrived[:2]] == [len(text) // 2 for text in right[:2]]
    assert arrived[2:] == right[2:]


async def test_a_misprinted_event_has_the_text_in_place_of_a_number(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    right, priced = struck(exchange, clock, StreamFault(kind="bad_price", text="NaN"))
    _, sized = struck(exchange, clock, StreamFault(kind="bad_quantity", text="1e9"))

    assert json.loads(priced[0])["b"] == [["NaN", "1.00000000"]]
    assert json.loads(sized[0])["b"] == [["1.00000000", "1e9"]]
    assert priced[1:] == right[1:]


async def test_a_late_event_says_that_it_was_sent_long_ago(exchange: SimulatedExchange, clock: FakeClock) -> None:
    right, arrived = struck(exchange, clock, StreamFault(kind="late", behind_ms=60_000))

    assert json.loads(right[0])["E"] - json.loads(arrived[0])["E"] == 60_000
    assert arrived[1:] == right[1:]


async def test_a_fault_without_a_number_lasts_until_it_is_cleared(
    exchange: SimulatedExchange, clock: FakeClock, session: StreamSession
) -> None:
    session.subscribe([DEPTH])
    exchange.hub.faults.add(StreamFault(kind="drop", times=None))
    clock.advance(1_000)
    assert session.due(clock.now_ms()) == []

    exchange.hub.faults.clear()
    clock.advance(100)

    assert len(session.due(clock.now_ms())) == 1


async def test_a_fault_for_another_stream_waits(
    exchange: SimulatedExchange, clock: FakeClock, session: StreamSession
) -> None:
    session.subscribe(["btcusdt@bookTicker"])
    exchange.hub.faults.add(StreamFault(kind="drop", stream=DEPTH))
    exchange.hub.faults.add(StreamFault(kind="gap", stream="btcusdt@bookTicker"))
    exchange.hub.faults.add(StreamFault(kind="crossed", stream="btcusdt@bookTicker"))
    clock.advance(2_000)

    assert session.due(clock.now_ms())
    assert [fault.kind for fault in exchange.hub.faults.pending()] == ["drop"]


async def test_a_silent_connection_does_not_answer_either(session: StreamSession, clock: FakeClock) -> None:
    session.silent = True

    assert session.receive('{"method":"LIST_SUBSCRIPTIONS","id":1}', clock.now_ms()) == []


async def test_stale_snapshots_are_older_than_the_first_event(
    clock: FakeClock, session: StreamSession, api: httpx2.AsyncClient
) -> None:
    session.subscribe([DEPTH])
    clock.advance(300)
    first = json.loads(session.due(clock.now_ms())[0])["data"]["U"]
    answer = await api.post("/control/streams/faults", json={"kind": "stale_snapshot", "times": 2})

    ids = [(await api.get("/api/v3/depth?symbol=BTCUSDT")).json()["lastUpdateId"] for _ in range(3)]

    assert answer.json() == {"faults": 1}
    assert [identity < first for identity in ids] == [True, True, False]


async def test_knobs_and_faults_are_set_over_the_control_endpoints(
    exchange: SimulatedExchange, api: httpx2.AsyncClient
) -> None:
    added = await api.post("/control/streams/faults", json=[{"kind": "drop"}, {"kind": "swap", "times": None}])
    cleared = await api.delete("/control/streams/faults")
    knobs = await api.post("/control/streams", json={"life_ms": 1000})
    more = await api.post("/control/streams", json={"messages_a_second": 50, "most_streams": 3})
    wrong = await api.post("/control/streams/faults", json={"kind": "earthquake"})

    assert (added.json(), cleared.json()) == ({"faults": 2}, {"faults": 0})
    usual = {"life_ms": 1000, "messages_a_second": 5, "most_streams": 1024, "pong_ms": 60000, "user_delay_ms": 0}
    assert knobs.json() == usual
    assert more.json() == usual | {"messages_a_second": 50, "most_streams": 3}
    assert (exchange.hub.life_ms, exchange.hub.messages_a_second, exchange.hub.most_streams) == (1000, 50, 3)
    assert wrong.status_code == 400


@pytest.mark.parametrize(
    ("kind", "events", "answers"), [("silent", False, False), ("deaf", True, False), ("half_open", False, False)]
)
async def test_a_connection_may_fall_silent_deaf_or_both(
    exchange: SimulatedExchange,
    clock: FakeClock,
    session: StreamSession,
    kind: StreamKind,
    *,
    events: bool,
    answers: bool,
) -> None:
    session.subscribe([DEPTH])
    exchange.hub.faults.add(StreamFault(kind=kind))
    clock.advance(300)

    told = session.due(clock.now_ms())
    answer = session.receive('{"method":"UNSUBSCRIBE","params":["btcusdt@depth@100ms"],"id":1}', clock.now_ms())
    clock.advance(100)
    later = session.due(clock.now_ms())

    assert (bool(told), bool(answer), bool(later)) == (events, answers, events)
    assert session.ending is None
    assert session.deaf == (kind != "silent")


@pytest.mark.slow
async def test_a_connection_without_pongs_is_closed_after_a_minute(
    exchange: SimulatedExchange, clock: FakeClock, session: StreamSession
) -> None:
    session.subscribe([DEPTH])
    clock.advance(-clock.now_ms() % 100)
    session.due(clock.now_ms())
    exchange.hub.faults.add(StreamFault(kind="no_pong"))
    clock.advance(100)
    session.due(clock.now_ms())
    clock.advance(59_900)
    lively = session.due(clock.now_ms())
    assert session.ending is None

    clock.advance(100)
    last = session.due(clock.now_ms())

    assert (len(lively), len(last), session.ending) == (599, 1, "pong")


async def test_a_connection_too_far_behind_is_closed(
    exchange: SimulatedExchange, clock: FakeClock, session: StreamSession
) -> None:
    exchange.hub.most_waiting = 50
    session.subscribe([DEPTH])
    clock.advance(4_000)
    assert len(session.due(clock.now_ms())) == 40

    clock.advance(8_000)

    assert (session.due(clock.now_ms()), session.ending) == ([], "behind")
