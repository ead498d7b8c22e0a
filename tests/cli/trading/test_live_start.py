"""A live start against a simulated Binance: what the key may do decides, whatever else agrees."""

import json
from collections.abc import Generator
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import pytest

from binance_simulator.account import KeyRights
from binance_simulator.faults import Fault
from mcp_binance_server.app import running_app
from mcp_binance_server.domain.access import key_id
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.dialing import NetworkDialer
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.trading_assembly.spot import opened_spot
from mcp_binance_server.upstream import Upstream, opened_upstream
from support.exchange_socket import ServedExchange, served_exchange
from support.process import run_warm

TITLES = {
    "withdrawals": "Enable Withdrawals",
    "internal_transfer": "Enable Internal Transfer",
    "universal_transfer": "Permits Universal Transfer",
    "trading": "Enable Spot & Margin Trading",
    "margin": "Enable Margin Loan, Repay & Transfer",
    "futures": "Enable Futures",
    "vanilla_options": "Enable European Options",
    "portfolio_margin": "Enable Portfolio Margin Trading",
    "ip_restricted": "Restrict access to trusted IPs only",
}
MUST_BE_OFF = ("withdrawals", "internal_transfer", "universal_transfer")
SIX = ("withdrawals", "internal_transfer", "universal_transfer", "trading", "margin", "ip_restricted")


@pytest.fixture(scope="module")
def served() -> Generator[ServedExchange]:
    with served_exchange() as exchange:
        yield exchange


def environment(served: ServedExchange, folder: Path) -> dict[str, str]:
    """Return the settings of a live server that has everything but, perhaps, the right key."""
    served.heal()
    policy = folder / "trading.toml"
    limits = '[limits]\nsymbols = ["BTCUSDT"]\nper_order = "250"\nper_day = "1000"\ndaily_loss = "100"\n'
    policy.write_text(f'{limits}[keys."{key_id(served.exchange.account.api_key)}"]\nmode = "live"\n')
    return {
        **served.environment(),
        "BINANCE_NETWORK": "mainnet",
        "MCP_BINANCE_TRADING": "live",
        "MCP_BINANCE_TRADING_DIR": str(folder / "trading"),
        "MCP_BINANCE_TRADING_POLICY": str(policy),
        "MCP_BINANCE_STATE_DIR": "off",
    }


@pytest.mark.parametrize("box", [*MUST_BE_OFF, "trading"])
def test_the_server_ends_with_one_line_that_names_the_box(box: str, served: ServedExchange, tmp_path: Path) -> None:
    around = environment(served, tmp_path)
    served.exchange.rights = KeyRights(**{"trading": True, box: box in MUST_BE_OFF})

    ended = run_warm("--http", "--port", "0", environment=around)

    (line,) = ended.stderr.decode().splitlines()
    assert ended.returncode == 2
    assert "MCP_BINANCE_TRADING=live" in line
    assert f"'{TITLES[box]}'" in line
    assert served.exchange.account.api_key not in line
    assert served.exchange.orders.accepted == []


def test_a_host_that_does_not_tell_ends_the_server_too(served: ServedExchange, tmp_path: Path) -> None:
    around = environment(served, tmp_path)
    served.exchange.rights = KeyRights(trading=True)
    served.exchange.faults.add(Fault(kind="status", path="/sapi/*", times=None, status=404, body="Not Found"))

    ended = run_warm("--http", "--port", "0", environment=around)

    assert ended.returncode == 2
    assert ended.stderr.decode().count("\n") == 1
    assert b"Binance does not report its rights" in ended.stderr


async def started(settings: Settings, upstream: Upstream) -> tuple[str, ...] | str:
    """Return what is told of the key after a start, or why there was none."""
    try:
        async with opened_spot(settings, upstream, None, NetworkDialer()) as side:
            return side.desk.key_notes
    except SettingsError as error:
        return error.message


async def test_every_set_of_six_boxes_starts_or_not_as_each_box_says(served: ServedExchange, tmp_path: Path) -> None:
    settings = read_settings(environment(served, tmp_path))
    async with opened_upstream(settings) as upstream:
        for values in product((False, True), repeat=len(SIX)):
            boxes = dict(zip(SIX, values, strict=True))
            served.exchange.rights = KeyRights(**boxes)

            told = await started(settings, upstream)

            wrong = [name for name in MUST_BE_OFF if boxes[name]] + ([] if boxes["trading"] else ["trading"])
            doubtful = (["margin"] if boxes["margin"] else []) + ([] if boxes["ip_restricted"] else ["ip_restricted"])
            said = told if isinstance(told, str) else " ".join(told)
            named = [name for name in TITLES if f"'{TITLES[name]}'" in said]
            assert isinstance(told, str) == bool(wrong), (boxes, told)
            assert named == sorted(wrong or doubtful, key=[*TITLES].index)


async def test_the_log_says_once_that_any_address_may_use_the_key(
    served: ServedExchange, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = read_settings(environment(served, tmp_path))
    served.exchange.rights = KeyRights(trading=True, ip_restricted=False)

    async def nothing() -> None:
        pass

    async with opened_upstream(settings) as upstream, opened_spot(settings, upstream, None, NetworkDialer()):
        upstream.examine_key()
        await upstream.background_tasks.join("key", nothing, lock_ms=1)

    warned = [each.name for each in caplog.records if "works from any IP address" in each.getMessage()]
    assert warned == ["mcp_binance_server.trading_assembly.rights"]


def test_what_cannot_be_asked_leaves_a_server_that_reads_and_does_not_trade(
    served: ServedExchange, tmp_path: Path
) -> None:
    settings = read_settings(environment(served, tmp_path))
    served.exchange.rights = KeyRights(trading=True)
    served.exchange.faults.add(Fault(kind="status", path="/sapi/*", times=None, status=503, body=""))

    async def ask() -> list[dict[str, Any]]:
        order = {"symbol": "BTCUSDT", "side": "BUY", "price": "116500", "quantity": "0.0005"}
        async with running_app(settings) as app:
            call = app.dispatcher.call_tool
            asked: list[tuple[str, dict[str, str]]] = [
                ("get_trading_status", {}),
                ("preview_order", order),
                ("get_ticker", {"symbol": "BTCUSDT"}),
            ]
            return [(await call(None, name, given)).structured_content or {} for name, given in asked]

    status, preview, ticker = anyio.run(ask)

    assert status["summary"].startswith(f"LIVE ({served.host}): not ready. No orders until the rights of the key")
    assert preview["preview_id"] is None
    assert [each.partition(":")[0] for each in preview["refused_by"]] == ["ready"], json.dumps(preview)
    assert ticker["symbol"] == "BTCUSDT"
    assert served.exchange.orders.accepted == []
