"""The keys of an issuer: found, kept, changed, out of reach, and never asked for often."""

import json
import logging
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise

import anyio
import pytest
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.http.auth.authenticator import Unauthenticated
from mcp_binance_server.transports.http.auth.jwks import metadata_addresses, read_key_set
from mcp_binance_server.transports.http.auth.oauth import OAuth
from mcp_binance_server.transports.http.auth.trust import ALGORITHMS, Trust
from support.clock import FakeClock
from support.issuer import ISSUER, KEYS, METADATA, RESOURCE, AuthorizationServer, Wire, b64, ec_key, ed_key, rsa_key

Enter = Callable[[str], Awaitable[Visitor]]

MINUTE_MS = 60_000
HOUR_MS = 3_600_000


async def is_let_in(enter: Enter, token: str) -> bool:
    try:
        await enter(token)
    except Unauthenticated as refusal:
        if refusal.status != 401:
            raise
        return False
    return True


async def settle() -> None:
    """Let a look in the background come to its end."""
    await anyio.wait_all_tasks_blocked()


@pytest.mark.slow
async def test_a_thousand_unknown_keys_cause_one_look_a_minute(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    await enter(issuer.token())
    stranger = ed_key("another")

    for number in range(1_000):
        clock.advance(600)
        assert not await is_let_in(enter, issuer.token(stranger, {"kid": f"k{number}"}))

    between = [later - earlier for earlier, later in pairwise(issuer.looked_ms)]
    assert len(between) == 10  # one for each minute that passed
    assert min(between) >= MINUTE_MS
    assert await is_let_in(enter, issuer.token())


@pytest.mark.slow
async def test_a_thousand_unknown_keys_at_once_share_one_look(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    await enter(issuer.token())
    clock.advance(MINUTE_MS)
    entered: list[bool] = []

    async def try_one(number: int) -> None:
        entered.append(await is_let_in(enter, issuer.token(ed_key("another"), {"kid": f"k{number}"})))

    async with anyio.create_task_group() as tasks:
        for number in range(1_000):
            tasks.start_soon(try_one, number)

    assert (len(entered), any(entered), issuer.looks) == (1_000, False, 2)


async def test_the_first_look_is_shared_and_survives_whoever_started_it(
    enter: Enter, issuer: AuthorizationServer, wire: Wire
) -> None:
    wire.gate = anyio.Event()
    names: list[str] = []

    async def come_in() -> None:
        names.append((await enter(issuer.token())).name)

    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as first:
            first.cancel()
            await enter(issuer.token())
        for _ in range(20):
            tasks.start_soon(come_in)
        await settle()
        wire.gate.set()

    assert len(names) == 20
    assert issuer.looks == 1


async def test_a_new_key_is_found_when_its_first_token_comes(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    old = issuer.token(ed_key())
    await enter(old)
    clock.advance(MINUTE_MS)
    issuer.keys = [ed_key("ed-2")]
    issuer.publish()

    assert (await enter(issuer.token(ed_key("ed-2")))).name == f"{ISSUER} ada"
    assert not await is_let_in(enter, old)
    assert issuer.looks == 2


async def test_a_new_key_under_an_old_name_is_found_too(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    await enter(issuer.token(ed_key()))
    clock.advance(MINUTE_MS)
    reused = ed_key("ed-2")
    issuer.answers[KEYS] = (200, json.dumps({"keys": [{**reused.jwk, "kid": "ed-1"}]}).encode())

    assert await is_let_in(enter, issuer.token(reused, {"kid": "ed-1"}))


async def test_keys_are_kept_for_an_hour_and_renewed_while_the_old_ones_serve(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    await enter(issuer.token())
    clock.advance(HOUR_MS - 1)
    await enter(issuer.token())
    assert issuer.looks == 1
    issuer.keys = [ec_key()]
    issuer.publish()
    clock.advance(1)

    assert await is_let_in(enter, issuer.token(ed_key()))
    await settle()

    assert not await is_let_in(enter, issuer.token(ed_key()))
    assert issuer.looks == 2


async def test_after_a_long_silence_nobody_comes_in_by_keys_that_may_be_withdrawn(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    await enter(issuer.token())
    issuer.keys = [ec_key()]
    issuer.publish()
    clock.advance(2 * HOUR_MS)

    assert not await is_let_in(enter, issuer.token(ed_key()))


async def test_an_outage_leaves_the_old_keys_in_force_for_a_day(
    enter: Enter, issuer: AuthorizationServer, wire: Wire, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    await enter(issuer.token())
    wire.is_cut = True

    for _ in range(23):
        clock.advance(HOUR_MS)
        assert await is_let_in(enter, issuer.token())
        await settle()
    clock.advance(HOUR_MS)
    with pytest.raises(Unauthenticated) as caught:
        await enter(issuer.token())

    assert (caught.value.status, caught.value.retry_after_secs) == (503, 10)
    assert "the cached keys are used" in caplog.text
    wire.is_cut = False
    clock.advance(MINUTE_MS)
    assert await is_let_in(enter, issuer.token())


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"{}"),
        (302, b""),
        (200, b"<html>"),
        (200, b"{}"),
        (200, b'{"keys": 5}'),
        (200, b'{"more": ' + b"[" * 100_000),
        (500, b'{"keys": []}'),
        (200, b'{"keys": ["\xff"]}'),
        (200, b'{"keys": []}' + b" " * 300_000),
        (200, json.dumps({"keys": [{}] * 65}).encode()),
    ],
)
async def test_an_answer_that_is_no_key_set_changes_nothing(
    answer: tuple[int, bytes], enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    await enter(issuer.token())
    issuer.answers[KEYS] = answer
    clock.advance(2 * HOUR_MS)

    assert await is_let_in(enter, issuer.token())
    assert issuer.looks == 2


async def test_an_issuer_that_withdraws_every_key_is_obeyed(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    await enter(issuer.token())
    issuer.keys = []
    issuer.publish()
    clock.advance(2 * HOUR_MS)

    assert not await is_let_in(enter, issuer.token(ed_key()))
    assert "publishes no key" in caplog.text


async def test_an_issuer_that_starts_late_is_found_within_seconds(
    enter: Enter, issuer: AuthorizationServer, wire: Wire, clock: FakeClock
) -> None:
    wire.is_cut = True
    for _ in range(100):
        with pytest.raises(Unauthenticated) as caught:
            await enter(issuer.token())
        assert caught.value.status == 503
    assert len(issuer.asked) == 2
    wire.is_cut = False
    clock.advance(10_000)

    assert await is_let_in(enter, issuer.token())


async def test_keys_that_moved_are_found_by_the_metadata(
    enter: Enter, issuer: AuthorizationServer, clock: FakeClock
) -> None:
    await enter(issuer.token())
    issuer.answers["/new-keys"] = issuer.answers.pop(KEYS)
    issuer.answers[METADATA] = (
        200,
        json.dumps({"issuer": ISSUER, "jwks_uri": f"{ISSUER}/new-keys"}).encode(),
    )
    clock.advance(2 * HOUR_MS)

    assert await is_let_in(enter, issuer.token())
    clock.advance(MINUTE_MS)
    assert await is_let_in(enter, issuer.token())
    assert issuer.asked[-1] == f"{ISSUER}/new-keys"


def test_metadata_is_looked_for_where_each_standard_puts_it() -> None:
    assert metadata_addresses("https://login.example/tenant/") == (
        "https://login.example/.well-known/oauth-authorization-server/tenant",
        "https://login.example/.well-known/openid-configuration/tenant",
        "https://login.example/tenant/.well-known/openid-configuration",
    )


async def test_an_issuer_with_openid_metadata_only_will_do(enter: Enter, issuer: AuthorizationServer) -> None:
    issuer.answers["/.well-known/openid-configuration"] = issuer.answers.pop(METADATA)

    assert await is_let_in(enter, issuer.token())


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": f"{ISSUER}/", "jwks_uri": f"{ISSUER}/keys"},
        {"issuer": "https://other.example", "jwks_uri": f"{ISSUER}/keys"},
        {"issuer": ISSUER},
        {"issuer": ISSUER, "jwks_uri": "http://login.example/keys"},
        {"issuer": ISSUER, "jwks_uri": "http://127.0.0.1:8080/keys"},
        {"issuer": ISSUER, "jwks_uri": "file:///etc/passwd"},
        {"issuer": ISSUER, "jwks_uri": "https://user@login.example/keys"},
        {"issuer": ISSUER, "jwks_uri": "https://login.example:many/keys"},
        {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/{'k' * 70_000}"},
        {"issuer": ISSUER, "jwks_uri": 5},
    ],
)
async def test_metadata_that_leads_elsewhere_is_not_followed(
    metadata: dict[str, object], enter: Enter, issuer: AuthorizationServer, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.answers[METADATA] = (200, json.dumps(metadata).encode())

    with pytest.raises(Unauthenticated) as caught:
        await enter(issuer.token())

    assert caught.value.status == 503
    assert all("/.well-known/" in address for address in issuer.asked)
    assert "could not be fetched, all tokens are refused" in caplog.text


async def test_an_address_of_keys_in_the_settings_needs_no_metadata(
    issuer: AuthorizationServer, channel: Channel, clock: FakeClock
) -> None:
    authenticator = OAuth(Trust(ISSUER, RESOURCE, jwks_url=f"{ISSUER}{KEYS}"), channel, clock)

    await authenticator.visitor([(b"authorization", f"Bearer {issuer.token()}".encode())], b"")

    assert issuer.asked == [f"{ISSUER}{KEYS}"]


async def test_an_issuer_on_this_machine_may_do_without_tls(clock: FakeClock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        issuer = AuthorizationServer(clock, rsa_key(), issuer=address)
        issuer.publish()
        server = uvicorn.Server(uvicorn.Config(issuer, lifespan="off", ws="none", log_config=None))
        channel = Channel(deadline_secs=20)
        authenticator = OAuth(Trust(address, RESOURCE), channel, clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(server.serve, sockets=[listener]))
            visitor = await authenticator.visitor([(b"authorization", f"bearer {issuer.token()}".encode())], b"")
            assert visitor.name == f"{address} ada"
            await channel.close()
            server.should_exit = True


async def test_closing_ends_a_look_under_way(clock: FakeClock) -> None:
    issuer = AuthorizationServer(clock)
    wire = Wire(issuer)
    wire.gate = anyio.Event()
    channel = Channel(deadline_secs=600, transport=wire)
    authenticator = OAuth(Trust(ISSUER, RESOURCE), channel, clock)

    async def come() -> None:
        with pytest.raises(Unauthenticated):
            await authenticator.visitor([(b"authorization", f"Bearer {issuer.token()}".encode())], b"")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(come)
        await settle()
        await authenticator.close()
    await channel.close()


@pytest.mark.parametrize(
    "members",
    [
        {"use": "enc"},
        {"alg": "RS512"},
        {"key_ops": ["encrypt"]},
        {"key_ops": "verify"},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "EC"},
        {"n": "AQAB"},
        {"n": None},
        {"n": 5},
        {"n": "!"},
        {"kid": 5},
        {"d": "AQAB"},
    ],
)
def test_a_key_that_is_not_for_us_or_broken_is_left_out(
    members: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    document = json.dumps({"keys": [{**rsa_key().jwk, **members}, ed_key().jwk]}).encode()

    with caplog.at_level(logging.WARNING):
        keys = read_key_set(document, ALGORITHMS)

    assert [key.kid for key in keys.keys] == ["ed-1"]


@pytest.mark.parametrize("start", [b'{"more": ', b'{"keys": [{"more": '])
def test_a_document_that_is_too_deep_is_no_key_set(start: bytes) -> None:
    with pytest.raises(ValueError, match="not a JWKS"):
        read_key_set(start + b"[" * 100_000, ALGORITHMS)


def test_a_private_key_that_was_published_is_left_out() -> None:
    private = Ed25519PrivateKey.generate()
    jwk = {**ed_key().jwk, "x": b64(private.public_key().public_bytes_raw()), "d": b64(private.private_bytes_raw())}

    assert read_key_set(json.dumps({"keys": [jwk]}).encode(), ALGORITHMS).keys == ()


def test_a_curve_that_no_accepted_algorithm_uses_is_left_out() -> None:
    public = Ed448PrivateKey.generate().public_key().public_bytes_raw()
    jwk = {**ed_key().jwk, "crv": "Ed448", "x": b64(public)}

    assert read_key_set(json.dumps({"keys": [jwk]}).encode(), ALGORITHMS).keys == ()


def test_a_token_may_mean_the_key_it_names_or_any_of_its_algorithm() -> None:
    keys = read_key_set(json.dumps({"keys": [ed_key().jwk, ed_key("ed-2").jwk, ec_key().jwk]}).encode(), ALGORITHMS)

    assert [key.kid for key in keys.fitting("ed-2", "EdDSA")] == ["ed-2"]
    assert [key.kid for key in keys.fitting(None, "EdDSA")] == ["ed-1", "ed-2"]
    assert keys.fitting("ed-2", "ES256") == keys.fitting("ed-3", "EdDSA") == ()


def test_a_short_rsa_key_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    document = json.dumps({"keys": [rsa_key("short", 1024).jwk]}).encode()

    assert read_key_set(document, ALGORITHMS).keys == ()
    assert "is ignored" in caplog.text


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"issuer": "http://login.example"}, "issuer: must start with https://"),
        ({"issuer": "https://login.example?x=1"}, "issuer: must not have a query"),
        ({"issuer": "login.example"}, "issuer: must have a host"),
        ({"issuer": "https://login.example/a b"}, "issuer: must be a plain address"),
        ({"resource": "https://mcp.example/mcp#x"}, "resource: must have a host"),
        ({"resource": "http://mcp.example/mcp"}, "resource: must start with https://"),
        ({"jwks_url": "ftp://login.example/keys"}, "JWKS address: must start with https://"),
        ({"jwks_url": "http://localhost.evil.example/keys"}, "JWKS address: must start with https://"),
        ({"algorithms": ("HS256",)}, "algorithms: choose from RS256"),
        ({"algorithms": ("none",)}, "algorithms: choose from RS256"),
        ({"algorithms": ()}, "algorithms: choose from RS256"),
        ({"leeway_secs": 31}, "leeway: must be 0 to 30 seconds"),
        ({"keep_secs": 59}, "keeping keys: must be 60 to 43200 seconds"),
    ],
)
def test_trust_that_would_be_misplaced_is_refused_at_the_start(changes: dict[str, object], problem: str) -> None:
    given: dict[str, object] = {"issuer": ISSUER, "resource": RESOURCE, **changes}

    with pytest.raises(SettingsError, match=problem):
        Trust(**given)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("address", ["http://localhost:8080/a", "http://127.1.2.3", "http://[::1]:9/mcp"])
def test_plain_http_is_good_enough_on_this_machine(address: str) -> None:
    assert Trust(address, address).issuer == address
