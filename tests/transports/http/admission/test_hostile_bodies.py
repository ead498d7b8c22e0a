"""What a body or a header can hold that no client should send: refused in words, by every transport."""

import gzip
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_binance_server.app import App
from mcp_binance_server.transports.http.admission.guard import BodyLimits
from mcp_binance_server.transports.http.assembly import Assembled
from support.webapp import ENVELOPE, MODERN, BareAnswer, assembled, bare, called, initialize
from support.webapp import request as message

CAP = BodyLimits().most
CALL: dict[str, Any] = {"name": "get_ticker", "arguments": {"symbol": "BTCUSDT"}}
TRANSPORTS = ("/mcp, handshake", "/mcp, 2026-07-28", "/mcp/message")
DIGITS = b"9" * 5_000
Changes = dict[str, str | None]


@dataclass
class Sender:
    """Somebody in a session, or in the newest revision without one, who writes bodies and headers by hand."""

    http: Assembled
    path: str
    headers: dict[str, str]
    valid: bytes

    async def send(
        self, body: bytes, *more: tuple[str, str], method: str = "POST", changes: Changes | None = None
    ) -> BareAnswer:
        changed = {**self.headers, **{name.replace("_", "-"): value for name, value in (changes or {}).items()}}
        sent = [(name, value) for name, value in changed.items() if value is not None]
        return await called(self.http, method, self.path, body, headers=[*sent, *more])


@pytest.fixture(params=TRANSPORTS)
async def sender(app: App, request: pytest.FixtureRequest) -> AsyncIterator[Sender]:
    async with assembled(app) as http:
        yield await introduced(http, request.param)


async def introduced(http: Assembled, transport: str) -> Sender:
    plain = {"host": "127.0.0.1", "content-type": "application/json", "accept": "application/json, text/event-stream"}
    if transport == "/mcp, 2026-07-28":
        named = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "get_ticker"}
        valid = message("tools/call", {**CALL, "_meta": ENVELOPE})
        return Sender(http, "/mcp", {**plain, **named}, json.dumps(valid).encode())
    opened = await bare(http, "POST", "/mcp", initialize()) if transport.startswith("/mcp,") else None
    opened = opened or await bare(http, "POST", "/mcp/sse")
    named = {"mcp-session-id": opened.headers["connection-id"], "connection-id": opened.headers["connection-id"]}
    return Sender(
        http, transport.partition(",")[0], {**plain, **named}, json.dumps(message("tools/call", CALL)).encode()
    )


def refused_as(answer: BareAnswer) -> tuple[int, int]:
    error = json.loads(answer.body)
    assert error["jsonrpc"] == "2.0"
    assert len(answer.body) <= 1_000
    return answer.status, error["error"]["code"]


NO_JSON = {
    "nothing": b"",
    "blank": b" \r\n ",
    "half": b'{"jsonrpc":"2.0","id":1,',
    "no UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    "500 deep": b"[" * 500,
    "5,000 deep": b"[" * 5_000,
    "10,000 deep": b'{"a":' * 10_000,
    "10,000 deep and closed": b"[" * 10_000 + b"]" * 10_000,
    "5,000 digits for an id": b'{"jsonrpc":"2.0","id":' + DIGITS + b',"method":"ping"}',
    "5,000 digits in a notification": b'{"jsonrpc":"2.0","method":"x","params":{"a":' + DIGITS + b"}}",
    "two messages": b'{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}',
}
NO_MESSAGE = {
    "a batch": b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    "an empty batch": b"[]",
    "a number": b"1e999",
    "NaN": b"NaN",
    "a word": b'"hello"',
    "null": b"null",
    "no version": b'{"id":1,"method":"ping"}',
    "a null id": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "a broken id": b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    "a true id": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "params as a list": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}',
}


@pytest.mark.flood
@pytest.mark.parametrize("case", [*NO_JSON, *NO_MESSAGE])
async def test_what_is_no_message_is_refused_in_words(case: str, sender: Sender) -> None:
    answer = await sender.send({**NO_JSON, **NO_MESSAGE}[case])

    status, code = refused_as(answer)
    assert status == 400
    # A notification or a response to a request of ours needs no header of its method, a request does.
    assert code in ((-32700,) if case in NO_JSON else (-32600, -32602, -32020)), answer.body
    assert (await sender.send(sender.valid)).status == 200


@pytest.mark.parametrize("body", [b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000])
async def test_what_is_nested_beyond_all_use_is_refused_unparsed(body: bytes, sender: Sender) -> None:
    assert refused_as(await sender.send(body)) == (413, -32600)
    assert (await sender.send(sender.valid)).status == 200


@pytest.mark.parametrize("value", [b"NaN", b"1e999", b"-Infinity", b'"\\ud800"', b"null", b"[[[[]]]]", b'"\\u0000"'])
async def test_a_value_that_means_nothing_is_the_models_to_mend(value: bytes, sender: Sender) -> None:
    answer = await sender.send(sender.valid.replace(b'"BTCUSDT"', value))

    told = json.loads(answer.body)
    assert answer.status in (200, 400)
    assert len(answer.body) <= 1_100
    assert told["result"]["isError"] if "result" in told else told["error"]["code"] in (-32600, -32700)


async def test_a_value_of_five_thousand_digits_is_refused(sender: Sender) -> None:
    answer = await sender.send(sender.valid.replace(b'"BTCUSDT"', DIGITS))

    assert refused_as(answer) == (400, -32700)


async def test_of_two_members_of_one_name_the_last_counts(sender: Sender) -> None:
    answer = await sender.send(sender.valid.replace(b'"id": 1', b'"id": 1, "id": 2'))

    assert json.loads(answer.body)["id"] == 2


async def test_a_mark_before_the_first_byte_does_no_harm(sender: Sender) -> None:
    assert (await sender.send(b"\xef\xbb\xbf" + sender.valid)).status in (200, 400)
    assert (await sender.send(sender.valid.replace(b" ", b"\r\n"))).status == 200


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"content_type": "text/plain"}, 415),
        ({"content_type": None}, 415),
        ({"content_type": "application/jsonx"}, 415),
        ({"accept": "text/html"}, 406),
        ({"content_encoding": "gzip"}, 415),
        ({"content_encoding": "br"}, 415),
    ],
)
async def test_what_is_not_json_is_refused_alike_in_both_eras(changes: Changes, status: int, sender: Sender) -> None:
    body = gzip.compress(sender.valid) if changes.get("content_encoding") == "gzip" else sender.valid

    answer = await sender.send(body, changes=changes)

    assert refused_as(answer) == (status, -32600)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "BREW", "OPTIONS", "TRACE"])
async def test_any_other_method_is_not_allowed_and_which_are_is_said(method: str, sender: Sender) -> None:
    answer = await sender.send(b"", method=method)

    assert refused_as(answer) == (405, -32600)
    assert "POST" in answer.headers["allow"]


async def test_the_cap_is_four_mebibytes_to_the_byte(sender: Sender) -> None:
    whole = sender.valid + b" " * (CAP - len(sender.valid))

    assert (await sender.send(whole)).status == 200
    assert refused_as(await sender.send(whole + b" ")) == (413, -32600)


MODERN_HEADERS: dict[str, Changes] = {
    "another name": {"mcp_name": "get_candles"},
    "no name": {"mcp_name": None},
    "another method": {"mcp_method": "tools/list"},
    "no method": {"mcp_method": None},
    "another revision": {"mcp_protocol_version": "2099-01-01"},
    "no revision at all": {"mcp_protocol_version": "\x00"},
    "a NUL": {"mcp_name": "get_ticker\x00"},
    "a line break": {"mcp_name": "get_ticker\r\nx-evil: canary"},
    "a bare line feed": {"mcp_name": "get_ticker\nWARNING canary"},
    "base64 that is none": {"mcp_name": "=?base64?!canary!?="},
    "base64 of another": {"mcp_name": "=?base64?Y2FuYXJ5?="},
    "capitals": {"mcp_name": "GET_TICKER"},
    "20,000 characters": {"mcp_name": "canary" * 3_400},
}


@pytest.mark.parametrize("case", MODERN_HEADERS)
async def test_headers_that_disagree_with_the_body_are_a_mismatch_and_not_repeated(
    case: str, app: App, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with assembled(app) as http:
        sender = await introduced(http, "/mcp, 2026-07-28")

        answer = await sender.send(sender.valid, changes=MODERN_HEADERS[case])

    assert refused_as(answer) == (400, -32020)
    assert b"canary" not in answer.body
    assert not any("canary" in value for value in answer.headers.values())
    assert "canary" not in caplog.text


@pytest.mark.parametrize("name", ["mcp-name", "mcp-method", "mcp-protocol-version"])
async def test_a_header_twice_is_a_mismatch_even_if_both_agree(name: str, app: App) -> None:
    async with assembled(app) as http:
        sender = await introduced(http, "/mcp, 2026-07-28")

        answer = await sender.send(sender.valid, (name, sender.headers[name]))

    assert refused_as(answer) == (400, -32020)


async def test_a_name_in_base64_is_read(app: App) -> None:
    async with assembled(app) as http:
        sender = await introduced(http, "/mcp, 2026-07-28")

        assert (await sender.send(sender.valid, changes={"mcp_name": "=?base64?Z2V0X3RpY2tlcg==?="})).status == 200
