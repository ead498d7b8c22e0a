"""A key trades with real money only if it can do that, and nothing that takes money away; what is not told is no."""

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.domain.account import KeyRights
from mcp_binance_server.errors import AppError, SettingsError
from mcp_binance_server.exchange.endpoints import NETWORKS, Network
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.settings import Settings
from mcp_binance_server.trading.judgement.key_rights import judge_rights
from mcp_binance_server.trading_assembly.rights import require_rights
from mcp_binance_server.upstream import opened_upstream
from support.clock import FakeClock
from support.desk import NETWORK, Loop

LOGGER = "mcp_binance_server.trading_assembly.rights"
MAINNET = replace(NETWORKS["mainnet"], rest_url=NETWORK.rest_url, public_data_url=None, stream_url=None)
# What Binance calls a box, how its page names it, and what it means for trading: this table is the oracle.
MUST_BE_OFF = {
    "enableWithdrawals": "Enable Withdrawals",
    "enableInternalTransfer": "Enable Internal Transfer",
    "permitsUniversalTransfer": "Permits Universal Transfer",
}
MUST_BE_ON = {"enableReading": "Enable Reading", "enableSpotAndMarginTrading": "Enable Spot & Margin Trading"}
BETTER_OFF = {
    "enableMargin": "Enable Margin Loan, Repay & Transfer",
    "enableFutures": "Enable Futures",
    "enableVanillaOptions": "Enable European Options",
    "enablePortfolioMarginTrading": "Enable Portfolio Margin Trading",
}
BETTER_ON = {"ipRestrict": "Restrict access to trusted IPs only"}
BOXES = {**MUST_BE_OFF, **MUST_BE_ON, **BETTER_OFF, **BETTER_ON}
GOOD = {name: name in MUST_BE_ON or name in BETTER_ON for name in BOXES}


def told(**boxes: bool) -> str:
    return json.dumps({**GOOD, "createTime": 1, "enableFixApiTrade": True, **boxes})


@asynccontextmanager
async def account_of(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, network: Network = MAINNET
) -> AsyncGenerator[AccountClient]:
    async with opened_upstream(settings, clock=clock, network=network, transport=Loop(exchange)) as upstream:
        yield AccountClient(upstream.caller, upstream.principal)


def answer_with(exchange: SimulatedExchange, body: str, status: int = 200) -> None:
    exchange.faults.clear()
    exchange.faults.add(Fault(kind="status", path="/sapi/*", times=None, status=status, body=body))


def test_every_set_of_boxes_is_judged_by_each_box_alone() -> None:
    names = tuple(BOXES)
    fields = ("withdrawals", "internal_transfer", "universal_transfer", "reading", "spot_trading")
    fields += ("margin", "futures", "options", "portfolio_margin", "ip_restricted")
    for values in product((True, False), repeat=len(names)):
        boxes = dict(zip(names, values, strict=True))

        verdict = judge_rights(KeyRights(**dict(zip(fields, values, strict=True))))

        wrong = [title for name, title in MUST_BE_OFF.items() if boxes[name]]
        wrong += [title for name, title in MUST_BE_ON.items() if not boxes[name]]
        doubtful = [title for name, title in BETTER_OFF.items() if boxes[name]]
        doubtful += [title for name, title in BETTER_ON.items() if not boxes[name]]
        assert named_in(verdict.refusals) == wrong
        assert named_in(verdict.warnings) == doubtful


def named_in(sentences: tuple[str, ...]) -> list[str]:
    return [title for sentence in sentences for title in BOXES.values() if f"'{title}'" in sentence]


@pytest.mark.parametrize("box", [*MUST_BE_OFF, *MUST_BE_ON])
async def test_a_box_that_is_wrong_ends_a_live_start_in_one_line(
    box: str, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    answer_with(exchange, told(**{box: box in MUST_BE_OFF}))

    async with account_of(settings, clock, exchange) as account:
        with pytest.raises(SettingsError) as caught:
            await require_rights(account, "live")

    said = caught.value.message
    assert "MCP_BINANCE_TRADING=live" in said
    assert f"'{BOXES[box]}'" in said
    assert account.require_key().key_id in said
    assert "\n" not in said
    assert exchange.account.api_key not in said


@pytest.mark.parametrize("box", [*BETTER_OFF, *BETTER_ON])
async def test_a_box_that_is_doubtful_is_warned_of_and_told(
    box: str,
    settings: Settings,
    clock: FakeClock,
    exchange: SimulatedExchange,
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer_with(exchange, told(**{box: box in BETTER_OFF}))

    async with account_of(settings, clock, exchange) as account:
        notes = await require_rights(account, "live")

    assert named_in(notes) == [BOXES[box]]
    (record,) = [each for each in caplog.records if each.name == LOGGER]
    assert record.levelno == logging.WARNING
    assert BOXES[box] in record.getMessage()
    assert exchange.account.api_key not in caplog.text


async def test_a_key_that_may_trade_and_nothing_else_passes_in_silence(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, caplog: pytest.LogCaptureFixture
) -> None:
    answer_with(exchange, told())

    async with account_of(settings, clock, exchange) as account:
        assert await require_rights(account, "live") == ()

    assert [each for each in caplog.records if each.name == LOGGER] == []


@pytest.mark.parametrize("untold", [*MUST_BE_OFF, *MUST_BE_ON])
async def test_a_box_that_nobody_tells_of_counts_against_the_key(
    untold: str, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    boxes = json.loads(told())
    del boxes[untold]
    answer_with(exchange, json.dumps(boxes))

    async with account_of(settings, clock, exchange) as account:
        # Either the answer is none, or the box is named: in no case is the key one to trade with.
        with pytest.raises(AppError):
            await require_rights(account, "live")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, "Not Found"),
        (401, '{"code":-2015,"msg":"Invalid API-key, IP, or permissions for action."}'),
        (400, '{"code":-1002,"msg":"You are not authorized to execute this request."}'),
        (451, '{"code":0,"msg":"Service unavailable from a restricted location."}'),
        (403, "<html>forbidden</html>"),
    ],
)
async def test_an_exchange_that_refuses_to_tell_ends_a_live_start(
    status: int, body: str, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    answer_with(exchange, body, status)

    async with account_of(settings, clock, exchange) as account:
        with pytest.raises(SettingsError, match="Binance does not report its rights") as caught:
            await require_rights(account, "live")

    assert "\n" not in caught.value.message


@pytest.mark.parametrize(("status", "body"), [(503, ""), (500, "{}"), (200, "<html>welcome</html>"), (200, "[]")])
async def test_an_exchange_that_cannot_be_asked_is_asked_again_later(
    status: int, body: str, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    answer_with(exchange, body, status)

    async with account_of(settings, clock, exchange) as account:
        with pytest.raises(AppError) as caught:
            await require_rights(account, "live")
        answer_with(exchange, told())
        clock.advance(5_000)
        assert await require_rights(account, "live") == ()

    assert not isinstance(caught.value, SettingsError)
    assert caught.value.retryable


@pytest.mark.parametrize("name", ["testnet", "demo"])
async def test_play_money_has_keys_whose_rights_nobody_tells_and_that_is_said(
    name: str, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    answer_with(exchange, told(enableWithdrawals=True))

    async with account_of(settings, clock, exchange, replace(MAINNET, name=name)) as account:
        assert await require_rights(account, "practice") == (f"{name} does not report the rights of a key",)

    assert [request.path for request in exchange.requests if "/sapi" in request.path] == []
