"""Every line that asks for something is a message or gets an answer under its own id."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import jsonrpc

from mcp_binance_server.transports.frames import FRAME_CAP, RefusedFrame, read_frame, scan_id, too_long, usable_id

ids = st.one_of(
    st.integers(min_value=-(2**63), max_value=2**63), st.text(max_size=20).filter(lambda text: text.isprintable())
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=8,
)


def refusal(line: bytes) -> tuple[str | int | None, int]:
    frame = read_frame(line)
    assert isinstance(frame, RefusedFrame)
    return frame.answer.id, frame.answer.error.code


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"hello", (None, jsonrpc.PARSE_ERROR)),
        (b'{"id":5}', (5, jsonrpc.INVALID_REQUEST)),
        (b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":[1]}', (6, jsonrpc.INVALID_REQUEST)),
        (b'{"jsonrpc":"2.1","id":"a","method":"ping"}', ("a", jsonrpc.INVALID_REQUEST)),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping"', (7, jsonrpc.PARSE_ERROR)),
        (b'{"jsonrpc":"2.0","id":8,"method":"\\ud800","params":{}}', (8, jsonrpc.PARSE_ERROR)),
        (b'{"jsonrpc":"2.0","id":9,"method":"\xff"}', (9, jsonrpc.PARSE_ERROR)),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', (None, jsonrpc.INVALID_REQUEST)),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', (None, jsonrpc.INVALID_REQUEST)),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', (None, jsonrpc.INVALID_REQUEST)),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', (None, jsonrpc.INVALID_REQUEST)),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', (None, jsonrpc.INVALID_REQUEST)),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', (None, jsonrpc.PARSE_ERROR)),
        (b'{"id":' + b"9" * 5000 + b',"method":"ping"}', (None, jsonrpc.PARSE_ERROR)),
        (b'{"jsonrpc":"2.0","id":10,"method":"ping","params":' + b"[" * 100_000, (10, jsonrpc.PARSE_ERROR)),
        (b"12", (None, jsonrpc.INVALID_REQUEST)),
    ],
)
def test_a_frame_that_is_no_message_is_answered(line: bytes, answer: tuple[str | int | None, int]) -> None:
    assert refusal(line) == answer


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":"x","method":"ping","params":{}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}',
    ],
)
def test_messages_pass(line: bytes) -> None:
    assert not isinstance(read_frame(line), RefusedFrame)


def test_the_text_of_an_unclosed_string_is_no_id() -> None:
    assert scan_id(b'{"id": ":0') is None


def test_a_line_over_the_cap_is_refused_under_its_id() -> None:
    start = b'{"jsonrpc":"2.0","id":"big","method":"x","params":"' + b"y" * FRAME_CAP

    assert too_long(start).answer.id == "big"


def frame_of(request_id: str | int, params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "params": {"id": 999_999, "x": params}, "id": request_id, "method": "m"})


def test_a_byte_order_mark_before_a_message_is_passed_over() -> None:
    message = read_frame(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}')

    assert isinstance(message, jsonrpc.JSONRPCRequest)
    assert (message.id, message.method) == (1, "ping")


@pytest.mark.night
@given(ids, values)
def test_the_scanner_finds_the_id_of_the_outermost_object(request_id: str | int, params: object) -> None:
    assert scan_id(frame_of(request_id, params).encode()) == request_id


@given(ids, values, st.data())
def test_a_cut_frame_gives_its_own_id_or_none_and_never_a_nested_one(
    request_id: str | int, params: object, data: st.DataObject
) -> None:
    whole = frame_of(request_id, params)
    cut = data.draw(st.integers(min_value=1, max_value=len(whole)))

    found = scan_id(whole[:cut].encode())

    # A number that is cut in its middle still reads as a number.
    assert found is None or str(request_id).startswith(str(found))


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(line: bytes) -> None:
    frame = read_frame(line)

    if isinstance(frame, RefusedFrame):
        json.loads(frame.answer.model_dump_json())


@given(st.one_of(st.floats(), st.none(), st.booleans(), st.lists(st.integers())))
def test_only_strings_and_integers_are_ids(value: object) -> None:
    assert usable_id(value) is None
