"""The small errors of the transports."""

import json

import pytest
from starlette.types import Message

from mcp_binance_server.transports.http.admission.refusals import refusal_body, refuse


async def test_a_refusal_is_a_json_rpc_error_without_an_id() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await refuse(send, 401, "invalid_token", "Who are you?", headers=[(b"www-authenticate", b"Bearer")])

    start, body = sent
    assert (start["type"], start["status"]) == ("http.response.start", 401)
    assert start["headers"] == [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body["body"])),
        (b"www-authenticate", b"Bearer"),
    ]
    assert json.loads(body["body"]) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "Who are you?", "data": {"reason": "invalid_token"}},
    }
    assert body.get("more_body", False) is False


@pytest.mark.parametrize("piece", ["a", '"', "\\", "é", "币", "🟥", "a\x00\r\n\u202e\u200b", "\ud800x"])
def test_whatever_is_said_the_body_is_short_and_printable(piece: str) -> None:
    body = refusal_body(piece * 10_000, piece * 10_000)

    error = json.loads(body)["error"]
    assert len(body) <= 1_000
    assert 50 <= len(error["message"]) <= 200
    assert error["message"].isprintable()
    assert error["data"]["reason"].isprintable()
