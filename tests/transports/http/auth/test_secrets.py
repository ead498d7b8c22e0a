"""A client's token is used up by the authenticator: no piece of it in a log, an error or a request of ours."""

import json
import logging
import traceback
from pathlib import Path

import pytest

from mcp_binance_server.transports.http.auth.authenticator import Unauthenticated, refusal_headers
from mcp_binance_server.transports.http.auth.oauth import OAuth
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, TokenFile, digest_of, new_token
from support.clock import FakeClock
from support.issuer import AuthorizationServer, Wire, ed_key

WINDOW = 12


def pieces(token: str) -> set[str]:
    # Without the header: "typ" and "alg" are the same in every token.
    secret = token.partition(".")[2] or token
    return {secret[at : at + WINDOW] for at in range(len(secret) - WINDOW + 1)}


def shown_by(refusal: Unauthenticated) -> str:
    told = "".join(traceback.TracebackException.from_exception(refusal).format())
    return f"{refusal!r} {told} {refusal_headers(refusal, 'https://mcp.example')!r} {refusal.__cause__!r}"


async def test_no_piece_of_an_access_token_leaves_the_door(
    authenticator: OAuth, issuer: AuthorizationServer, wire: Wire, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tokens = {
        "good": issuer.token(),
        "expired": issuer.token(exp=1),
        "other audience": issuer.token(aud="https://other.example"),
        "other key": issuer.token(ed_key("another")),
        "unknown key": issuer.token(ed_key("another"), {"kid": "unknown"}),
        "not readable": issuer.token() + "!",
        "claims of the wrong kind": issuer.token(exp="soon"),
    }
    said: list[str] = []

    for is_cut in (True, False):
        wire.is_cut = is_cut
        clock.advance(60_000)
        for token in tokens.values():
            for query in (b"", f"access_token={token}".encode()):
                try:
                    said.append(
                        repr(await authenticator.visitor([(b"authorization", f"Bearer {token}".encode())], query))
                    )
                except Unauthenticated as refusal:
                    said.append(shown_by(refusal))
    everything = json.dumps([said, caplog.text, issuer.asked, repr(authenticator)])

    assert "ada" in everything
    assert not [name for name, token in tokens.items() if any(piece in everything for piece in pieces(token))]


async def test_the_issuer_never_sees_what_a_client_sent(
    authenticator: OAuth, issuer: AuthorizationServer, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    real = wire.handle_async_request

    async def watched(request: object) -> object:
        sent.append(f"{request!r} {dict(request.headers)}")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        return await real(request)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(wire, "handle_async_request", watched)
    token = issuer.token()

    await authenticator.visitor(
        [(b"authorization", f"Bearer {token}".encode()), (b"x-binance-api-key", b"canary")], b""
    )

    assert len(sent) == 2
    assert not any("authorization" in each.lower().replace("oauth-authorization-server", "") for each in sent)
    assert not any(piece in each for each in sent for piece in (*pieces(token), "canary"))


async def test_no_piece_of_a_static_token_leaves_the_door(
    tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    known, unknown = new_token(), new_token()
    file = tmp_path / "tokens"
    file.write_text(TokenEntry("ada", digest_of(known), frozenset({"market:read"})).line)
    authenticator = TokenFile(file, clock)

    visitor = await authenticator.visitor([(b"authorization", f"Bearer {known}".encode())], b"")
    with pytest.raises(Unauthenticated) as caught:
        await authenticator.visitor([(b"authorization", f"Bearer {unknown}".encode())], b"")

    everything = f"{visitor!r} {shown_by(caught.value)} {caplog.text} {vars(authenticator)!r}"
    assert not any(piece in everything for piece in pieces(known) | pieces(unknown))
