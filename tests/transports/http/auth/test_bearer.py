"""Where a token may stand in a request, and what is said to a request without a good one."""

import json

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from mcp_binance_server.domain.access import LOCAL
from mcp_binance_server.transports.http.auth.authenticator import (
    Authenticator,
    Open,
    Unauthenticated,
    bearer_token,
    refusal_headers,
    scope_headers,
)
from mcp_binance_server.transports.http.auth.oauth import OAuth
from mcp_binance_server.transports.http.auth.trust import (
    WELL_KNOWN,
    metadata_path,
    metadata_url,
    resource_metadata,
)
from support.issuer import ISSUER, RESOURCE, AuthorizationServer

METADATA_URL = "https://mcp.example/.well-known/oauth-protected-resource/mcp"


def authorization(*values: str) -> list[tuple[bytes, bytes]]:
    return [(b"host", b"x"), *((b"authorization", value.encode()) for value in values)]


@pytest.mark.parametrize("value", ["Bearer abc", "bearer abc", "BEARER abc", "Bearer   abc ", "bEaReR abc"])
def test_the_scheme_may_be_written_in_any_case(value: str) -> None:
    assert bearer_token(authorization(value), b"session_id=1") == "abc"


def test_the_characters_of_a_token_are_all_taken() -> None:
    assert bearer_token(authorization("Bearer aZ09-._~+/=="), b"") == "aZ09-._~+/=="


@pytest.mark.parametrize(
    ("values", "query", "status", "error"),
    [
        ((), b"", 401, None),
        (("",), b"", 401, None),
        (("Basic YTpi",), b"", 401, None),
        (("Bearerabc",), b"", 401, None),
        (("Bearer",), b"", 401, "invalid_token"),
        (("Bearer a b",), b"", 401, "invalid_token"),
        (("Bearer a,b",), b"", 401, "invalid_token"),
        (("Bearer =",), b"", 401, "invalid_token"),
        (("Bearer ä",), b"", 401, "invalid_token"),
        (("Bearer " + "a" * 8_193,), b"", 401, "invalid_token"),
        (("Bearer a", "Bearer a"), b"", 400, "invalid_request"),
        (("Bearer a", "Basic YTpi"), b"", 400, "invalid_request"),
        ((), b"access_token=abc", 400, "invalid_request"),
        (("Bearer a",), b"x=1&Access_Token=abc", 400, "invalid_request"),
        (("Bearer a",), b"access%5Ftoken=abc", 400, "invalid_request"),
        (("Bearer a",), b"token=", 400, "invalid_request"),
    ],
)
def test_a_token_stands_in_exactly_one_header(
    values: tuple[str, ...], query: bytes, status: int, error: str | None
) -> None:
    with pytest.raises(Unauthenticated) as caught:
        bearer_token(authorization(*values), query)

    assert (caught.value.status, caught.value.error) == (status, error)


def test_a_token_of_exactly_the_longest_length_is_read() -> None:
    assert len(bearer_token(authorization("Bearer " + "a" * 8_192), b"")) == 8_192


async def test_an_open_door_asks_nobody() -> None:
    assert await Open().visitor(authorization("Bearer a", "Bearer b"), b"access_token=1") is LOCAL


def challenge(headers: list[tuple[bytes, bytes]]) -> str:
    ((name, value),) = headers
    assert name == b"www-authenticate"
    return value.decode("ascii")


def test_a_refusal_says_why_and_where_to_get_a_token() -> None:
    refusal = Unauthenticated("The token has expired.")

    assert challenge(refusal_headers(refusal, METADATA_URL)) == (
        f'Bearer error="invalid_token", error_description="The token has expired.", resource_metadata="{METADATA_URL}"'
    )


def test_a_request_without_a_token_made_no_error() -> None:
    refusal = Unauthenticated("A token is needed.", error=None)

    assert challenge(refusal_headers(refusal, METADATA_URL)) == f'Bearer resource_metadata="{METADATA_URL}"'
    assert challenge(refusal_headers(refusal, None)) == 'Bearer realm="mcp-binance-server"'


def test_a_refusal_for_want_of_keys_asks_to_come_again() -> None:
    refusal = Unauthenticated("Not now.", error="temporarily_unavailable", status=503, retry_after_secs=10)

    assert refusal_headers(refusal, METADATA_URL) == [(b"retry-after", b"10")]


def test_missing_scopes_are_named_all_at_once() -> None:
    assert challenge(scope_headers(["trade", "account:read"], METADATA_URL)) == (
        'Bearer error="insufficient_scope", error_description="The token does not allow this.", '
        f'scope="account:read market:read trade", resource_metadata="{METADATA_URL}"'
    )


def test_no_text_can_break_out_of_a_header() -> None:
    said = challenge(refusal_headers(Unauthenticated('a"\r\nSet-Cookie: x=\\"ü'), None))

    assert said == 'Bearer error="invalid_token", error_description="aSet-Cookie: x=", realm="mcp-binance-server"'


def test_the_metadata_names_the_resource_its_issuer_and_what_can_be_asked_for() -> None:
    assert json.loads(resource_metadata(RESOURCE, ISSUER, ["market:read", "account:read"])) == {
        "resource": "https://mcp.example/mcp",
        "authorization_servers": ["https://login.example"],
        "scopes_supported": ["account:read", "market:read"],
        "bearer_methods_supported": ["header"],
        "resource_name": "mcp-binance-server",
    }


@pytest.mark.parametrize(
    ("resource", "path", "url"),
    [
        (RESOURCE, f"{WELL_KNOWN}/mcp", METADATA_URL),
        ("https://h.example:8443/a/mcp", f"{WELL_KNOWN}/a/mcp", f"https://h.example:8443{WELL_KNOWN}/a/mcp"),
        ("http://127.0.0.1:3000/", WELL_KNOWN, f"http://127.0.0.1:3000{WELL_KNOWN}"),
    ],
)
def test_the_metadata_lies_where_rfc_9728_puts_it(resource: str, path: str, url: str) -> None:
    assert (metadata_path(resource), metadata_url(resource)) == (path, url)


class AskingApp:
    """An application of ten lines that asks an authenticator: what a refusal becomes on the wire."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        try:
            visitor = await self._authenticator.visitor(scope["headers"], scope["query_string"])
        except Unauthenticated as refusal:
            headers = refusal_headers(refusal, METADATA_URL)
            await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
            await send({"type": "http.response.body", "body": refusal.description.encode()})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": visitor.name.encode()})


async def test_on_the_wire_good_tokens_pass_and_others_learn_why(
    authenticator: OAuth, issuer: AuthorizationServer
) -> None:
    token = issuer.token()
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(AskingApp(authenticator)), base_url="https://mcp.example"
    ) as http:
        good = await http.post("/mcp", headers={"Authorization": f"bearer {token}"})
        none = await http.post("/mcp")
        twice = await http.post("/mcp", headers=[("Authorization", f"Bearer {token}")] * 2)
        asked = await http.post(f"/mcp?access_token={token}")

    assert (good.status_code, good.text) == (200, f"{ISSUER} ada")
    assert (none.status_code, none.headers["www-authenticate"]) == (401, f'Bearer resource_metadata="{METADATA_URL}"')
    assert [answer.status_code for answer in (twice, asked)] == [400, 400]
    assert all('error="invalid_request"' in answer.headers["www-authenticate"] for answer in (twice, asked))
    assert token not in asked.text + str(asked.headers)
