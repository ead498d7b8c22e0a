"""Whose account a call reads, and what a caller may do: by the metadata of that call alone."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import httpx2
import pytest
from grpc import StatusCode

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.domain.access import Credentials, Visitor
from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.settings import read_settings
from mcp_binance_server.transports.arrival import Proxies
from mcp_binance_server.transports.grpc.callers import Callers
from mcp_binance_server.transports.grpc.errors import TokenRefused
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.provider import Metadata, Provider, provided, refused
from support.requirement import requirement

BALANCES = "binance://account/balances"


class TwoAccounts(httpx2.AsyncBaseTransport):
    """One exchange to its clients: the key of a request decides whose books are opened."""

    def __init__(self, first: SimulatedExchange, second: SimulatedExchange) -> None:
        self._second_key = second.account.api_key
        self._first, self._second = Loop(first), Loop(second)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        is_second = request.headers.get("x-mbx-apikey") == self._second_key
        return await (self._second if is_second else self._first).handle_async_request(request)


def keys(account: DemoAccount) -> Metadata:
    return (("x-binance-api-key", account.api_key), ("x-binance-secret-key", account.secret_key))


@pytest.fixture
def other(clock: FakeClock) -> SimulatedExchange:
    return SimulatedExchange(clock, seed=8, scenario="contract")


@pytest.fixture
async def keyless(clock: FakeClock, exchange: SimulatedExchange, other: SimulatedExchange) -> AsyncIterator[Provider]:
    transport = TwoAccounts(exchange, other)
    async with (
        running_app(read_settings({}), clock=clock, network=NETWORK, transport=transport) as app,
        provided(app.dispatcher) as served,
    ):
        yield served


async def test_two_callers_at_once_see_their_own_account_each(
    keyless: Provider, exchange: SimulatedExchange, other: SimulatedExchange
) -> None:
    async def balances(metadata: Metadata) -> dict[str, str]:
        answer = json.loads((await keyless.invoke("get_account_info", metadata=metadata)).structured_json)
        return {row["asset"]: row["free"] for row in answer["balances"]}

    async def page(metadata: Metadata) -> str:
        return (await keyless.read(BALANCES, metadata)).contents[0].text

    first, second = keys(exchange.account), keys(other.account)
    seen = await asyncio.gather(*(balances(each) for _ in range(10) for each in (first, second)))
    pages = await asyncio.gather(*(page(each) for _ in range(5) for each in (first, second)))

    assert all(each == seen[0] for each in seen[::2])
    assert all(each == seen[1] for each in seen[1::2])
    assert seen[0] != seen[1]
    assert len({*pages[::2]}) == len({*pages[1::2]}) == 1
    assert pages[0] != pages[1]


async def test_a_call_without_a_key_has_no_account_even_after_one_that_had(
    keyless: Provider, exchange: SimulatedExchange
) -> None:
    await keyless.read(BALANCES, keys(exchange.account))

    async with refused() as seen:
        await keyless.read(BALANCES)

    assert (seen[0].status, seen[0].error["code"]) == (StatusCode.UNAUTHENTICATED, -32002)


async def test_a_key_of_the_caller_goes_before_the_servers_own(provider: Provider, exchange: SimulatedExchange) -> None:
    async with refused() as seen:
        await provider.read(BALANCES, (("x-binance-api-key", "k" * 64), ("x-binance-secret-key", "s" * 64)))

    assert seen[0].status is StatusCode.UNAUTHENTICATED
    assert seen[0].error["data"]["masked_api_key"] == "kkkk****kkkk"
    assert (await provider.read(BALANCES)).shareable is False
    assert exchange.requests


async def test_a_private_key_travels_as_bytes(keyless: Provider, exchange: SimulatedExchange) -> None:
    account = exchange.account
    pem = account.ed25519_private_key_pem.encode()

    page = await keyless.read(
        BALANCES, (("x-binance-api-key", account.ed25519_api_key), ("x-binance-secret-key-bin", pem))
    )

    assert page.contents[0].text == (await keyless.read(BALANCES, keys(account))).contents[0].text


@pytest.mark.parametrize(
    "metadata",
    [
        (("x-binance-api-key", "k" * 64),),
        (("x-binance-secret-key", "s" * 64),),
        (("x-binance-api-key", "k" * 64), ("x-binance-api-key", "l" * 64), ("x-binance-secret-key", "s" * 64)),
        (("x-binance-api-key", "k" * 64), ("x-binance-secret-key", "s"), ("x-binance-secret-key-bin", b"s")),
        (("x-binance-api-key", "k" * 64), ("x-binance-secret-key-bin", b"\xff\xfe")),
        (("x-binance-api-key", "k" * 64), ("x-binance-secret-key", "-----BEGIN PRIVATE KEY-----hunter2")),
        (("authorization", "Bearer a"), ("authorization", "Bearer b")),
    ],
)
async def test_half_a_key_or_two_of_them_are_refused_and_not_repeated(keyless: Provider, metadata: Metadata) -> None:
    async with refused() as seen:
        await keyless.invoke("get_server_time", metadata=metadata)

    assert seen[0].status is StatusCode.INVALID_ARGUMENT
    assert seen[0].error["code"] == -32602
    assert all(word not in json.dumps(seen[0].error) for word in ("kkkk", "ssss", "hunter2"))


TOKENS = {"Bearer all": Visitor("ada"), "Bearer market": Visitor("bob", frozenset({"market:read"}))}
ADA, BOB = ((("authorization", token),) for token in TOKENS)


async def by_token(headers: Mapping[str, str]) -> Visitor:
    assert not any(name.startswith("x-binance") for name in headers)
    if (visitor := TOKENS.get(headers.get("authorization", ""))) is None:
        raise TokenRefused
    return visitor


async def test_a_server_with_a_lock_lets_nobody_in_without_a_token(app: App) -> None:
    async with provided(app.dispatcher, authenticate=by_token) as provider:
        for method in ("ListCapabilities", "Invoke", "ReadResource", "GetPrompt"):
            async with refused() as seen:
                await provider.raw(method, b"\xff garbage")
            assert (seen[0].status, seen[0].error["code"]) == (StatusCode.UNAUTHENTICATED, -32600)

        assert (await provider.read(BALANCES, ADA)).contents


# By the peer, whether it speaks TLS and what it says: whether nobody reads along, and whether it is on this machine.
HTTPS = (("x-forwarded-proto", "https"),)
WAYS: list[tuple[str, bool, Metadata, bool, bool]] = [
    ("ipv4:127.0.0.1:1", False, (), True, True),
    ("ipv6:%5B::1%5D:1", False, (), True, True),
    ("ipv6:[::ffff:127.0.0.1]:1", False, (), True, True),
    ("ipv4:203.0.113.9:1", True, (), True, False),
    ("ipv4:10.0.0.1:1", False, HTTPS, True, False),
    ("ipv4:203.0.113.9:1", False, (), False, False),
    ("ipv6:%5B2001:db8::1%5D:1", False, HTTPS, False, False),
    ("unix:/tmp/x", False, (), False, False),
    ("ipv4:10.0.0.1:1", False, (), False, False),
    ("ipv4:127.0.0.1:1", False, (("x-forwarded-for", "127.0.0.1"),), False, False),
    ("ipv4:127.0.0.1:1", False, (("x-envoy-peer-metadata-id", "x"),), False, False),
]


@requirement("ruling/47")
@pytest.mark.parametrize(("peer", "tls", "said", "private", "here"), WAYS)
async def test_keys_travel_and_are_lent_by_the_same_rule_as_over_http(
    exchange: SimulatedExchange, peer: str, said: Metadata, *, tls: bool, private: bool, here: bool
) -> None:
    own = Principal.of(Credentials(exchange.account.api_key, exchange.account.secret_key))
    proxies = Proxies(("10.0.0.1",))
    asking = Callers(own, by_token, proxies, is_tls=tls)
    open_to_all = Callers(own, None, proxies, is_tls=tls)
    brought = (("x-binance-api-key", "k" * 64), ("x-binance-secret-key", "s" * 64))

    known, anybody = await asking.of((*ADA, *said), peer), await open_to_all.of(said, peer)

    assert (known.principal is own, anybody.principal is own) == (private, here)
    for callers, token in ((asking, ADA), (open_to_all, ())):
        if private:
            caller = await callers.of((*token, *said, *brought), peer)
            assert caller.principal is not None
            assert caller.principal is not own
        else:
            with pytest.raises(InvalidArguments, match="Keys are accepted over TLS or on this machine only"):
                await callers.of((*token, *said, *brought), peer)


async def test_who_was_passed_on_reads_no_account_of_ours(app: App) -> None:
    async with provided(app.dispatcher) as provider:
        mine = await provider.read(BALANCES)
        async with refused() as page:
            await provider.read(BALANCES, (("x-forwarded-for", "203.0.113.9"),))
        async with refused() as keys_sent:
            await provider.read(BALANCES, (("x-forwarded-for", "203.0.113.9"), *keys(DemoAccount(99))))

    assert mine.contents
    assert page[0].error["data"]["likely_cause"] == "key_not_lent"
    assert (keys_sent[0].status, keys_sent[0].error["code"]) == (StatusCode.INVALID_ARGUMENT, -32602)


async def test_a_token_for_the_market_reads_no_account(app: App) -> None:
    async with provided(app.dispatcher, authenticate=by_token) as provider:
        assert not (await provider.invoke("get_ticker", {"symbol": "BTCUSDT"}, BOB)).is_error
        async with refused() as page:
            await provider.read(BALANCES, BOB)
        async with refused() as tool:
            await provider.invoke("get_account_info", metadata=BOB)

    for each in (page[0], tool[0]):
        assert each.status is StatusCode.PERMISSION_DENIED
        assert each.error["data"]["needed_scopes"] == ["account:read"]
