"""Orders that stand at Binance are taken back from a terminal, with the settings of their server and no others."""

from collections.abc import Generator
from typing import Any

import anyio
import pytest

from binance_simulator.account import KeyRights
from cli.trading.trading_folder import TradingFolder
from mcp_binance_server.app import running_app
from mcp_binance_server.cli.main import main
from mcp_binance_server.domain.access import key_id
from mcp_binance_server.settings import read_settings
from support.exchange_socket import ServedExchange, served_exchange
from support.paper import RESTING

Output = pytest.CaptureFixture[str]
LIVE = '[limits]\nsymbols = ["BTCUSDT"]\nper_order = "250"\nper_day = "1000"\ndaily_loss = "100"\n'


@pytest.fixture(scope="module")
def served() -> Generator[ServedExchange]:
    with served_exchange() as exchange:
        yield exchange


def environment(served: ServedExchange, folder: TradingFolder, mode: str, network: str) -> dict[str, str]:
    """Return the settings of a server that trades there; with money its limits name the key."""
    served.heal()
    served.exchange.rights = KeyRights(trading=True)
    named = key_id(served.exchange.account.api_key)
    confirm = '[confirm]\nauto_per_order = "100"\nauto_per_day = "500"\n'
    folder.policy.write_text(f'{LIVE}{confirm}[keys."{named}"]\nmode = "{mode}"\n', encoding="utf-8")
    host = served.host
    return {
        **served.environment(),
        "BINANCE_WS_API_URL": f"ws://{host}/ws-api/v3",
        "MCP_BINANCE_TRADING": mode,
        "BINANCE_NETWORK": network,
        "MCP_BINANCE_TRADING_DIR": str(folder.path),
        "MCP_BINANCE_TRADING_POLICY": str(folder.policy),
        "MCP_BINANCE_STATE_DIR": "off",
    }


async def placed(settings: dict[str, str], prices: tuple[str, ...]) -> list[str]:
    names: list[str] = []
    async with running_app(read_settings(settings)) as app:
        for price in prices:
            shown = await told(app.dispatcher.call_tool(None, "preview_order", {**RESTING, "price": price}))
            assert shown["refused_by"] == []
            sent = await told(app.dispatcher.call_tool(None, "place_order", {"preview_id": shown["preview_id"]}))
            assert sent["status"] == "NEW", sent
            names.append(sent["client_order_id"])
    return names


def standing(served: ServedExchange) -> list[str]:
    orders = served.exchange.orders.records.orders.values()
    return [each.wanted.client_order_id for each in orders if each.open]


async def told(asked: Any) -> dict[str, Any]:  # noqa: ANN401 - a call of a tool
    result = await asked
    assert not result.is_error, result.content
    return result.structured_content or {}


@pytest.mark.parametrize(("mode", "network", "prefix"), [("practice", "testnet", "mbt-"), ("live", "mainnet", "mbl-")])
def test_a_person_cancels_one_order_and_then_all_of_them(  # noqa: PLR0917 - fixtures
    mode: str,
    network: str,
    prefix: str,
    served: ServedExchange,
    folder: TradingFolder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
) -> None:
    settings = environment(served, folder, mode, network)
    names = anyio.run(placed, settings, ("116500", "116400", "116300"))
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    main(["journal"])
    listed = capsys.readouterr().out
    one = main(["cancel", names[0]])
    after_one = capsys.readouterr()
    every = main(["stop", "--cancel-all", "enough"])
    after_all = capsys.readouterr().out

    assert all(name.startswith(prefix) for name in names)
    where = f"LIVE ({served.host})" if mode == "live" else "PRACTICE (testnet)"
    assert [where in line for name in names for line in listed.splitlines() if name in line] == [True] * len(names)
    assert (one, every) == (0, 0), after_one.err
    assert f"{names[0]}: " in after_one.out
    assert "CANCELED" in after_one.out
    assert [after_all.count(f"{name}: ") for name in names] == [0, 1, 1]
    assert "No open orders." in after_all
    assert {*names} <= {each.client_order_id for each in served.exchange.orders.accepted}
    assert standing(served) == []


def test_with_other_settings_nothing_is_sent_and_what_to_set_is_said(
    served: ServedExchange, folder: TradingFolder, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    settings = environment(served, folder, "practice", "testnet")
    (name,) = anyio.run(placed, settings, ("116200",))
    served.exchange.requests.clear()

    code = main(["cancel", name])
    said = capsys.readouterr().err
    stopped = main(["stop", "--cancel-all"])
    listed = capsys.readouterr().out

    assert code == 1
    assert "MCP_BINANCE_TRADING=practice" in said
    assert "BINANCE_NETWORK=testnet" in said
    assert stopped == 0
    assert "Still open" in listed
    assert name in listed
    assert list(served.exchange.requests) == []
    for each, value in settings.items():
        monkeypatch.setenv(each, value)
    assert standing(served) == [name]
    assert main(["cancel", name]) == 0
    assert standing(served) == []


def test_a_key_that_may_no_longer_trade_here_still_takes_its_orders_back(
    served: ServedExchange, folder: TradingFolder, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    settings = environment(served, folder, "live", "mainnet")
    (name,) = anyio.run(placed, settings, ("116100",))
    served.exchange.rights = KeyRights(trading=True, withdrawals=True)
    for each, value in settings.items():
        monkeypatch.setenv(each, value)

    assert main(["cancel", name]) == 0, capsys.readouterr().err
    assert standing(served) == []
    assert "CANCELED" in capsys.readouterr().out
