"""The lock of the HTTP application on the gRPC service: the same tokens open it, and the same do not."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from grpc import StatusCode

from mcp_binance_server.app import App
from mcp_binance_server.channel import Channel
from mcp_binance_server.cli.serve_grpc import authenticating
from mcp_binance_server.transports.http.auth.oauth import OAuth
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, TokenFile, digest_of, new_token
from mcp_binance_server.transports.http.auth.trust import Trust
from support.bad_tokens import BAD
from support.clock import FakeClock
from support.issuer import ISSUER, RESOURCE, AuthorizationServer, Wire, ec_key, ed_key, rsa_key
from support.provider import Metadata, Provider, provided, refused

BALANCES = "binance://account/balances"
# The library itself refuses metadata of that size.
CASES = sorted(BAD.keys() - {"1 MB"})


@pytest.fixture
def issuer(clock: FakeClock) -> AuthorizationServer:
    server = AuthorizationServer(clock, ed_key(), ec_key(), rsa_key())
    server.publish()
    return server


@pytest.fixture
def wire(issuer: AuthorizationServer) -> Wire:
    return Wire(issuer)


@pytest.fixture
async def locked(app: App, wire: Wire, clock: FakeClock) -> AsyncIterator[Provider]:
    channel = Channel(deadline_secs=5, transport=wire)
    oauth = OAuth(Trust(ISSUER, RESOURCE), channel, clock)
    async with provided(app.dispatcher, authenticate=authenticating(oauth)) as provider:
        yield provider
    await oauth.close()
    await channel.close()


def bearer(token: str) -> Metadata:
    return (("authorization", f"Bearer {token}"),)


async def test_no_bad_token_opens_the_service(locked: Provider, issuer: AuthorizationServer) -> None:
    for case in CASES:
        token = BAD[case](issuer)
        async with refused() as seen:
            await locked.read("binance://market/btcusdt", bearer(token))

        assert seen[0].status is StatusCode.UNAUTHENTICATED, case
        assert seen[0].error["data"]["reason"] == "invalid_token"
        assert token not in f"{seen[0]}"


async def test_without_a_token_nothing_is_told_not_even_what_there_is(locked: Provider) -> None:
    async with refused() as seen:
        await locked.capabilities()

    assert (seen[0].status, seen[0].error["data"]["reason"]) == (StatusCode.UNAUTHENTICATED, "token_missing")


async def test_an_issuer_that_does_not_answer_is_no_fault_of_the_caller_s(
    locked: Provider, issuer: AuthorizationServer, wire: Wire, clock: FakeClock
) -> None:
    wire.is_cut = True
    async with refused() as seen:
        await locked.read("binance://market/btcusdt", bearer(issuer.token()))
    wire.is_cut = False
    clock.advance(10_000)

    assert seen[0].status is StatusCode.UNAVAILABLE
    assert (seen[0].error["data"]["error_type"], seen[0].error["data"]["retryable"]) == ("issuer_unavailable", True)
    assert (await locked.read("binance://market/btcusdt", bearer(issuer.token()))).contents


async def test_a_good_token_opens_what_its_scopes_say(locked: Provider, issuer: AuthorizationServer) -> None:
    both, market = bearer(issuer.token()), bearer(issuer.token(scope="market:read"))

    assert (await locked.read(BALANCES, both)).contents
    assert (await locked.read("binance://market/btcusdt", market)).contents
    async with refused() as seen:
        await locked.read(BALANCES, market)
    assert (seen[0].status, seen[0].error["data"]["needed_scopes"]) == (StatusCode.PERMISSION_DENIED, ["account:read"])


async def test_a_token_of_the_file_opens_it_and_another_does_not(app: App, clock: FakeClock, tmp_path: Path) -> None:
    token, file = new_token(), tmp_path / "tokens"
    file.write_text(TokenEntry("ada", digest_of(token), frozenset({"market:read"})).line)

    async with provided(app.dispatcher, authenticate=authenticating(TokenFile(file, clock))) as provider:
        assert (await provider.read("binance://market/btcusdt", bearer(token))).contents
        async with refused() as seen:
            await provider.read("binance://market/btcusdt", bearer(new_token()))

    assert seen[0].status is StatusCode.UNAUTHENTICATED
