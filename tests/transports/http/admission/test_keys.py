"""Keys in headers: taken together, over a private line, for the session or the request that brought them."""

import logging

import httpx2
import pytest

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Portfolio
from mcp_binance_server.app import App
from support.requirement import requirement
from support.webapp import HttpClient, assembled, request

MARK = "31415.92653589"
BALANCES = {"uri": "binance://account/balances"}


@pytest.fixture
def guest(exchange: SimulatedExchange) -> DemoAccount:
    account = DemoAccount(99)
    exchange.guests.append(Guest(account, Portfolio((Balance("USDT", MARK, "0.0"),))))
    return account


def keys_of(account: DemoAccount) -> dict[str, str]:
    return {"x_binance_api_key": account.api_key, "x_binance_secret_key": account.secret_key}


def reason(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["data"]["reason"]


@requirement("data-model/session-credentials", "ruling/28")
async def test_keys_that_opened_a_session_are_used_in_it(http: HttpClient, guest: DemoAccount) -> None:
    mine, servers = await http.initialize(**keys_of(guest)), await http.initialize()

    page = await http.ask("resources/read", mine, BALANCES)
    tool = await http.ask("tools/call", mine, {"name": "get_account_info", "arguments": {}})
    prompt = await http.ask("prompts/get", mine, {"name": "portfolio_risk", "arguments": {}})
    other = await http.ask("resources/read", servers, BALANCES)

    assert "31,415.92653589" in page.text
    assert MARK in tool.text
    assert "31,415.93" in prompt.text
    assert MARK not in other.text
    assert "31,415.92653589" not in other.text


async def test_a_request_of_the_newest_revision_brings_its_own(http: HttpClient, guest: DemoAccount) -> None:
    mine = await http.modern("resources/read", BALANCES, **keys_of(guest))
    servers = await http.modern("resources/read", BALANCES)

    assert "31,415.92653589" in mine.text
    assert "31,415.92653589" not in servers.text


async def test_an_ed25519_key_travels_with_its_line_ends_written_out(http: HttpClient, guest: DemoAccount) -> None:
    pem = guest.ed25519_private_key_pem.strip().replace("\n", "\\n")
    mine = await http.modern(
        "resources/read", BALANCES, x_binance_api_key=guest.ed25519_api_key, x_binance_secret_key=pem
    )

    assert "31,415.92653589" in mine.text


@pytest.mark.parametrize(
    "keys",
    [
        {"x-binance-api-key": "a" * 64},
        {"x-binance-secret-key": "b" * 64},
        {"x-binance-api-key": "", "x-binance-secret-key": ""},
        {"x-binance-api-key": "a" * 9_000, "x-binance-secret-key": "b"},
        {"x-binance-api-key": "a" * 64, "x-binance-secret-key": "-----BEGIN PRIVATE KEY-----\\nx"},
    ],
)
async def test_half_a_pair_or_no_key_is_refused_before_anything(
    http: HttpClient, exchange: SimulatedExchange, keys: dict[str, str]
) -> None:
    opened = await http.post("/mcp/sse", headers=keys)
    asked = await http.modern("tools/list", **{name.replace("-", "_"): value for name, value in keys.items()})

    assert reason(opened) == reason(asked) == (400, "keys_refused")
    assert http.http.heart.http_sessions.registry.snapshot().opened == 0
    assert all(value not in opened.text for value in keys.values() if value)
    assert not exchange.requests


async def test_a_pair_twice_is_refused(http: HttpClient, guest: DemoAccount) -> None:
    once = [("x-binance-api-key", guest.api_key), ("x-binance-secret-key", guest.secret_key)]

    opened = await http.post("/mcp/sse", headers=[*once, *once])

    assert reason(opened) == (400, "keys_refused")


@requirement("ruling/27")
async def test_keys_over_a_line_that_others_read_are_refused(app: App, guest: DemoAccount) -> None:
    async with assembled(app, trusted_proxies=("10.0.0.1",)) as running:
        answers: list[httpx2.Response] = []
        for client, forwarded in (
            ("192.0.2.7", {}),
            ("192.0.2.7", {"x-forwarded-proto": "https", "x-forwarded-for": "127.0.0.1"}),
            ("10.0.0.1", {"x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.7"}),
        ):
            transport = httpx2.ASGITransport(running.asgi, client=(client, 5))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                headers = {**{name.replace("_", "-"): value for name, value in keys_of(guest).items()}, **forwarded}
                answers.append(await http.post("/mcp/sse", headers=headers))
        (session,) = [call.session for call in running.heart.http_sessions.opened()]

    assert [each.status_code for each in answers] == [400, 400, 200]
    assert session.remote_addr == "192.0.2.7"


async def test_whoever_names_another_key_is_not_in_that_session(
    http: HttpClient, guest: DemoAccount, exchange: SimulatedExchange
) -> None:
    mine = await http.initialize(**keys_of(guest))

    same = await http.ask("resources/read", mine, BALANCES, **keys_of(guest))
    other = await http.ask("resources/read", mine, BALANCES, **keys_of(exchange.account))

    assert same.status_code == 200
    assert reason(other) == (404, "keys_need_new_session")


@requirement("ruling/28")
@pytest.mark.parametrize("path", ["/mcp", "/mcp/message"])
async def test_keys_in_the_middle_of_a_session_are_answered_with_what_to_do(
    path: str, http: HttpClient, guest: DemoAccount
) -> None:
    opened_without = await http.initialize()

    headers = {name.replace("_", "-"): value for name, value in keys_of(guest).items()}
    late = await http.post(
        path, json=request("resources/read", BALANCES), headers={**headers, "mcp-session-id": opened_without}
    )
    anew = await http.initialize(**keys_of(guest))

    said = late.json()["error"]["message"]
    assert reason(late) == (404, "keys_need_new_session")
    assert "send initialize without a session id, with X-Binance-Api-Key and X-Binance-Secret-Key" in said
    assert guest.api_key not in late.text
    assert "31,415.92653589" in (await http.ask("resources/read", anew, BALANCES)).text


@requirement("data-model/credentials-unlogged")
async def test_keys_of_a_session_reach_no_log_no_answer_and_no_figure(
    http: HttpClient, guest: DemoAccount, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    mine = await http.initialize(**keys_of(guest))
    said = [
        await http.ask("resources/read", mine, BALANCES),
        await http.ask("tools/call", mine, {"name": "get_account_info", "arguments": {}}),
        await http.ask("tools/call", mine, {"name": "get_order", "arguments": {"symbol": "BTCUSDT", "order_id": 1}}),
        await http.modern("resources/read", BALANCES, **keys_of(guest)),
        await http.modern("resources/read", BALANCES, x_binance_api_key=guest.api_key, x_binance_secret_key="x" * 64),
        await http.get("/metrics"),
        await http.delete("/mcp", headers={"mcp-session-id": mine}),
    ]

    everything = "\n".join([caplog.text, *(f"{each.headers} {each.text}" for each in said)])
    pieces = {key[at : at + 9] for key in (guest.api_key, guest.secret_key) for at in range(len(key) - 8)}
    assert "DEBUG" in everything
    assert not [piece for piece in pieces if piece in everything]
