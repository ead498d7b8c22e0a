"""A key that may withdraw, or that any address may use: said with the account, and at the start in one line."""

import json
import logging
import urllib.request
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client

from binance_simulator.account import KeyRights
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import running_app
from mcp_binance_server.exchange.endpoints import NETWORKS, Network
from mcp_binance_server.settings import Settings
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.process import Process
from support.provider import until
from support.served import text_of
from support.workers import wait_for

MAINNET = replace(NETWORKS["mainnet"], rest_url=NETWORK.rest_url, public_data_url=None, stream_url=None)
WITHDRAW = "THIS KEY CAN WITHDRAW YOUR MONEY: 'Enable Withdrawals' is ticked"
ANYWHERE = "This key works from any IP address: restrict it"
LOGGER = "mcp_binance_server.exchange.spot.account"


async def account_info(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, network: Network = MAINNET
) -> tuple[str, dict[str, Any]]:
    async with (
        running_app(settings, clock=clock, network=network, transport=Loop(exchange)) as app,
        Client(app.server, cache=None) as client,
    ):
        answer = await client.call_tool("get_account_info", {})
    assert answer.structured_content is not None
    return text_of(answer), answer.structured_content


async def test_both_channels_say_that_a_key_can_withdraw_and_is_bound_to_no_address(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    exchange.rights = KeyRights(withdrawals=True, ip_restricted=False)

    text, structured = await account_info(settings, clock, exchange)

    first, second = structured["warnings"]
    assert (structured["key_can_withdraw"], structured["key_ip_restricted"]) == (True, False)
    assert first.startswith(WITHDRAW)
    assert second.startswith(ANYWHERE)
    assert text.index(WITHDRAW) < text.index(ANYWHERE) < text.index("**Account Type**")
    assert "**Key May Withdraw**: Yes\n**Key Bound to Addresses**: No" in text


async def test_a_key_as_it_should_be_gets_no_warning(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    text, structured = await account_info(settings, clock, exchange)

    assert "warnings" not in structured
    assert (structured["key_can_withdraw"], structured["key_ip_restricted"]) == (False, True)
    assert "**Key May Withdraw**: No\n**Key Bound to Addresses**: Yes" in text


async def test_an_account_is_shown_where_nobody_tells_the_rights_of_a_key(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    exchange.rights = KeyRights(withdrawals=True)
    _, on_testnet = await account_info(settings, clock, exchange, NETWORK)
    exchange.faults.add(Fault(kind="status", path="/sapi/*", times=None, status=404, body="Not Found"))
    text, untold = await account_info(settings, clock, exchange)

    assert [each["key_can_withdraw"] for each in (on_testnet, untold)] == [None, None]
    assert "Key May Withdraw" not in text
    assert untold["balances"]


@pytest.mark.parametrize(
    ("rights", "level", "said"),
    [
        (KeyRights(withdrawals=True, ip_restricted=False), "ERROR", (WITHDRAW, ANYWHERE)),
        (KeyRights(withdrawals=True), "ERROR", (WITHDRAW,)),
        (KeyRights(ip_restricted=False), "WARNING", (ANYWHERE,)),
    ],
)
async def test_the_log_says_it_once_at_the_start(  # noqa: PLR0917 - fixtures
    settings: Settings,
    clock: FakeClock,
    exchange: SimulatedExchange,
    rights: KeyRights,
    level: str,
    said: tuple[str, ...],
    caplog: pytest.LogCaptureFixture,
) -> None:
    exchange.rights = rights

    async with running_app(settings, clock=clock, network=MAINNET, transport=Loop(exchange), preload=True):
        await until(lambda: [each for each in caplog.records if each.name == LOGGER])

    (record,) = [each for each in caplog.records if each.name == LOGGER]
    assert record.levelname == level
    assert all(sentence in record.getMessage() for sentence in said)
    assert f"key {exchange.account.api_key[:4]}****" in record.getMessage()
    assert exchange.account.api_key not in caplog.text


async def test_a_good_key_is_asked_about_in_silence_and_no_key_not_at_all(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    bare = settings.model_copy(update={"api_key": None, "secret_key": None})

    async with running_app(settings, clock=clock, network=MAINNET, transport=Loop(exchange), preload=True):
        await until(lambda: any("sapi" in each.path for each in exchange.requests))
    asked = sum("sapi" in each.path for each in exchange.requests)
    async with running_app(bare, clock=clock, network=MAINNET, transport=Loop(exchange), preload=True) as app:
        await app.market.rules("BTCUSDT")

    assert (asked, sum("sapi" in each.path for each in exchange.requests)) == (1, 1)
    assert [each for each in caplog.records if each.name == LOGGER] == []


def test_a_client_on_a_pipe_finds_it_in_the_log() -> None:
    with Process("simulator", warm=True) as simulator:
        exchange = json.loads(simulator.line())
        boxes = json.dumps({"withdrawals": True}).encode()
        with urllib.request.urlopen(f"{exchange['control']}/key", data=boxes, timeout=30):  # noqa: S310 - our own
            pass
        own = {
            "BINANCE_API_KEY": exchange["api_key"],
            "BINANCE_SECRET_KEY": exchange["secret_key"],
            "BINANCE_REST_URL": exchange["rest"],
            "MCP_BINANCE_LOG_LEVEL": "ERROR",
        }
        with Process(environment=own, warm=True) as server:
            server.shake_hands()
            wait_for(lambda: WITHDRAW in server.errors.read_text(), "the line")
            server.close_input()
            server.wait()
            said = server.errors.read_text()
        simulator.terminate()

    assert said.count("WITHDRAW YOUR MONEY") == 1
    assert len(said.splitlines()) == 1
