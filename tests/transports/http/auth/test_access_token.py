"""Access tokens of an issuer: good ones come in as who they are, no bad one does, and none steers what we fetch."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.transports.http.auth.authenticator import Unauthenticated
from mcp_binance_server.transports.http.auth.jwks import KeySet
from mcp_binance_server.transports.http.auth.oauth import OAuth, Proof, Proven
from mcp_binance_server.transports.http.auth.trust import Trust
from support.bad_tokens import BAD
from support.clock import FakeClock
from support.issuer import (
    ISSUER,
    RESOURCE,
    AuthorizationServer,
    SigningKey,
    Wire,
    ec_key,
    ed_key,
    rsa_key,
)

Enter = Callable[[str], Awaitable[Visitor]]


async def refused(enter: Enter, token: str) -> Unauthenticated:
    with pytest.raises(Unauthenticated) as caught:
        await enter(token)
    assert token not in f"{caught.value} {caught.value!r}"
    return caught.value


@pytest.mark.parametrize("key", [rsa_key(), ec_key(), ed_key()], ids=lambda key: key.algorithm)
async def test_a_good_token_of_each_algorithm_comes_in(
    key: SigningKey, enter: Enter, issuer: AuthorizationServer
) -> None:
    visitor = await enter(issuer.token(key))

    assert visitor == Visitor(f"{ISSUER} ada", frozenset({"market:read", "account:read"}))


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ({"typ": None}, {}),
        ({"typ": "JWT"}, {}),
        ({"typ": "application/at+jwt"}, {}),
        ({"kid": None}, {}),
        ({}, {"aud": ["https://other.example", RESOURCE]}),
        ({"x5t": "thumbprint", "jku": "https://evil.example/keys", "jwk": {"kty": "OKP"}}, {}),
    ],
)
async def test_what_issuers_do_differently_does_not_matter(
    header: dict[str, Any], claims: dict[str, Any], enter: Enter, issuer: AuthorizationServer
) -> None:
    assert (await enter(issuer.token(header=header, **claims))).name == f"{ISSUER} ada"


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_token_stays_outside(case: str, enter: Enter, issuer: AuthorizationServer) -> None:
    await enter(issuer.token())
    issuer.asked.clear()

    refusal = await refused(enter, BAD[case](issuer))

    assert (refusal.status, refusal.error) == (401, "invalid_token")
    assert issuer.asked == []


@pytest.mark.parametrize("case", ["jku", "x5u", "jwk in the header"])
async def test_a_token_never_says_where_keys_come_from(case: str, enter: Enter, issuer: AuthorizationServer) -> None:
    await refused(enter, BAD[case](issuer))

    assert {address.removeprefix(ISSUER) for address in issuer.asked} == {
        "/.well-known/oauth-authorization-server",
        "/keys",
    }


@pytest.mark.parametrize("case", ["alg none", "HS256 with the public key", "crit", "1 MB", "an ID token's type"])
async def test_what_no_key_could_mend_does_not_make_us_look_for_keys(
    case: str, enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    await enter(issuer.token())
    clock.advance(60_000)

    await refused(enter, BAD[case](issuer))

    assert issuer.looks == 1


async def test_the_edges_of_a_tokens_life_are_exact(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    start = clock.now_ms() // 1000 + 1_000
    token = issuer.token(nbf=start, exp=start + 60)
    lives: list[bool] = []

    # Ten seconds of leeway at both ends; the last moment is no longer inside.
    for at_ms in (start * 1000 - 10_001, start * 1000 - 10_000, (start + 70) * 1000 - 1, (start + 70) * 1000):
        clock.set_wall(at_ms)
        try:
            await enter(token)
            lives.append(True)
        except Unauthenticated:
            lives.append(False)

    assert lives == [False, True, True, False]


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({"scope": "market:read"}, {"market:read"}),
        ({"scope": "market:read  trade openid market:write"}, {"market:read", "trade"}),
        ({"scope": None, "scp": ["account:read", "email"]}, {"account:read"}),
        ({"scope": None, "scp": "account:read market:read"}, {"account:read", "market:read"}),
        ({"scope": "market:read", "scp": ["trade"]}, {"market:read"}),
        ({"scope": "MARKET:READ market:read,account:read"}, set[str]()),
        ({"scope": None}, set[str]()),
        ({"scope": ""}, set[str]()),
    ],
)
async def test_only_scopes_we_know_are_kept(
    claims: dict[str, Any], scopes: set[str], enter: Enter, issuer: AuthorizationServer
) -> None:
    assert (await enter(issuer.token(**claims))).scopes == scopes


async def test_two_subjects_are_two_visitors_whatever_they_are_called(
    enter: Enter, issuer: AuthorizationServer
) -> None:
    subjects = ["ada", "Ada", "ada ", " ada", "a" * 255, "a" * 254, f"{ISSUER} ada"]

    names = {(await enter(issuer.token(sub=subject))).name for subject in subjects}

    assert len(names) == len(subjects)


async def test_the_accepted_algorithms_are_a_choice(
    issuer: AuthorizationServer, channel: Channel, clock: FakeClock
) -> None:
    issuer.keys = [ed_key(), rsa_key(algorithm="PS256")]
    issuer.publish()
    authenticator = OAuth(Trust(ISSUER, RESOURCE, algorithms=("PS256",)), channel, clock)

    async def enter(token: str) -> Visitor:
        return await authenticator.visitor([(b"authorization", f"Bearer {token}".encode())], b"")

    assert (await enter(issuer.token(rsa_key(algorithm="PS256")))).name == f"{ISSUER} ada"
    await refused(enter, issuer.token(ed_key()))


async def test_a_token_that_was_proven_before_still_expires(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    token = issuer.token()
    await enter(token)
    await enter(token)
    clock.advance(310_000)

    assert str(await refused(enter, token)) == "The token has expired."


def test_proofs_are_few_and_the_one_unused_for_longest_goes_first() -> None:
    proven, proof = Proven(most=2), Proof(b"{}", KeySet((), b""))
    for token in ("a", "b"):
        proven.keep(token, proof)

    assert proven.find("a") is proof
    proven.keep("c", proof)

    assert (proven.find("a"), proven.find("b"), proven.find("c"), len(proven)) == (proof, None, proof, 2)


@given(at=st.integers(0, 400), to=st.sampled_from("AQgw_-.x"))
async def test_no_changed_character_of_a_token_is_accepted(at: int, to: str) -> None:
    clock = FakeClock()
    issuer = AuthorizationServer(clock, ed_key())
    issuer.publish()
    channel = Channel(deadline_secs=5, transport=Wire(issuer))
    authenticator = OAuth(Trust(ISSUER, RESOURCE), channel, clock)
    good = issuer.token()
    place = at % len(good)
    token = f"{good[:place]}{to}{good[place + 1 :]}"

    try:
        await authenticator.visitor([(b"authorization", f"Bearer {token}".encode())], b"")
    except Unauthenticated:
        is_let_in = False
    else:
        is_let_in = True
    await channel.close()

    assert is_let_in == (token == good)
