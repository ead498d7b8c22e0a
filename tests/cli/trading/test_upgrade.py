"""Trading folders that older versions wrote, with tables 2 and 4: brought up to date by themselves, nothing is lost."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest
from mcp import Client

from binance_simulator.account import KeyRights
from cli.trading.trading_folder import PASSPHRASE, TradingFolder
from cli.trading.typist import Typist
from mcp_binance_server.app import running_app
from mcp_binance_server.cli.main import main
from mcp_binance_server.settings import read_settings
from mcp_binance_server.trading.journal.last_written import read_last
from mcp_binance_server.trading.journal.schema import NEWEST
from support.desk import Loop
from support.exchange_socket import ServedExchange, served_exchange
from support.live_desk import called
from support.paper import PaperTrader
from support.stepped import STREAMED, SteppedClock, live_market
from support.trader import Trader
from support.upgrade import TRADED, leave_trading

Output = pytest.CaptureFixture[str]
Tables = dict[str, list[dict[str, object]]]
ALL_OF = "SELECT * FROM {} ORDER BY 1, 2"
MAINNET = replace(STREAMED, name="mainnet")
WHY = "I am away until Monday"
# What their servers said of these orders last.
STOOD = {
    "paper": {
        "mbp-yz7u56tju5sg43vjcd3u": "FILLED",
        "mbp-mpqty7cvlg4k2t5wwnyn": "CANCELED",
        "mbp-oesqoza7cfmdwd3tk7c2": "NEW",
        "mbp-yq3df66xmlys7dhmwpl7": "NEW",
    },
    "lists": {
        "mbp-pr56fhrr4ogjuphz77bu": "FILLED",
        "mbp-3kk5s4imvr33qphybkq7": "CANCELED",
        "mbp-lwlp4uatod3tr4rgc6sx": "NEW",
        "mbp-yxr5zhlojo6v4rt662ik": "NEW",
        "mbp-oeyq7csnkjlab27cpdsn": "NEW",
    },
    "practice": {
        "mbt-i3xxjflbfso6acx3xufh": "FILLED",
        "mbt-vkdv7obshvdnukrlij7c": "CANCELED",
        "mbt-dd4xbguxznxajkxjbbji": "NEW",
    },
}
# Its owner is asked before a stop is taken away.
NEEDS_A_YES = "mbp-yq3df66xmlys7dhmwpl7"
LOCKED = {"paper": {"BTC": Decimal("0.001"), "USDT": 0}, "lists": {"BTC": 0, "USDT": 0}}
LEFT_AT = {"paper": 2, "lists": 4, "practice": 2}


def left_behind(folder: Path) -> tuple[int, Tables]:
    """Return the version of a journal and the rows of all its tables, each in an order of its own."""
    db = sqlite3.connect(folder / "trading.db")
    db.row_factory = sqlite3.Row
    (version,) = db.execute("PRAGMA user_version").fetchone()
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    found: Tables = {name: [dict(row) for row in db.execute(ALL_OF.format(name))] for name in names}
    db.close()
    return version, found


def standing(folder: Path) -> dict[object, object]:
    return {each["client_order_id"]: each["status"] for each in left_behind(folder)[1]["intent"]}


@pytest.mark.parametrize("kind", TRADED)
def test_an_older_journal_is_read_whole_before_anything_of_it_is_changed(
    kind: str, folder: TradingFolder, capsys: Output
) -> None:
    leave_trading(kind, folder.path, folder.policy)
    before, last = (folder.path / "trading.db").read_bytes(), read_last(folder.path)

    codes = [main(["journal"]), main(["journal", "--verify"])]

    said = capsys.readouterr().out
    assert last is not None
    assert codes == [0, 0]
    assert [name for name in STOOD[kind] if name not in said] == []
    assert f"is intact: {last.seq} events, {len(STOOD[kind])} orders" in said
    assert (folder.path / "trading.db").read_bytes() == before


@pytest.mark.parametrize("kind", TRADED)
def test_it_is_brought_up_to_date_once_and_every_row_of_it_stays(kind: str, folder: TradingFolder) -> None:
    leave_trading(kind, folder.path, folder.policy)
    then, before = left_behind(folder.path)

    first = folder.stopped()
    now, after = left_behind(folder.path)
    up_to_date = (folder.path / "trading.db").read_bytes()
    second = folder.stopped()

    stops = [each["why"] for each in before.pop("stop")]
    kept = {name: [{key: row[key] for key in old} for old, row in zip(rows, after[name], strict=True)]
            for name, rows in before.items()}  # fmt: skip
    assert (then, now) == (LEFT_AT[kind], NEWEST)
    assert kept == before
    assert after.keys() - before.keys() == {"account_stop"}
    assert [(each["account"], each["why"]) for each in after["account_stop"]] == [("", why) for why in stops]
    assert (first and first.why, second) == (stops[0] if stops else None, first)
    assert (folder.path / "trading.db").read_bytes() == up_to_date
    assert standing(folder.path) == STOOD[kind]


@pytest.mark.parametrize("kind", ["paper", "lists"])
async def test_a_server_on_paper_goes_on_with_the_account_and_the_stop_as_they_were(
    kind: str, folder: TradingFolder
) -> None:
    leave_trading(kind, folder.path, folder.policy)
    last = read_last(folder.path)
    assert last is not None
    clock = SteppedClock(last.at_ms + 60_000)
    settings = {
        "MCP_BINANCE_TRADING": "paper",
        "MCP_BINANCE_TRADING_DIR": str(folder.path),
        "MCP_BINANCE_TRADING_POLICY": str(folder.policy),
    }
    waiting = [name for name, status in STOOD[kind].items() if status == "NEW" and name != NEEDS_A_YES]
    order = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": "0.001", "price": "90500"}

    async with live_market(environment=settings, network=MAINNET, clock=clock) as market:
        trader = PaperTrader(market, market.client)
        await market.run(5)
        held = await trader.call("preview_order", **order)
        shown = await trader.call("get_open_orders")
        cancelled = [await trader.call("cancel_order", symbol="BTCUSDT", client_order_id=name) for name in waiting]
        account = await trader.call("get_account_info")

    assert WHY in str(held.data["refused_by"])
    assert {each["client_order_id"].removesuffix("-w") for each in shown.data["orders"]} >= {*waiting}
    assert [each.data["status"] for each in cancelled] == ["CANCELED"] * len(waiting)
    assert {each["asset"]: Decimal(each["locked"]) for each in account.data["balances"]} == LOCKED[kind]
    assert standing(folder.path) == {name: "CANCELED" if name in waiting else was for name, was in STOOD[kind].items()}


def test_the_approver_of_before_lifts_the_stop_with_the_passphrase_of_before(folder: TradingFolder) -> None:
    leave_trading("paper", folder.path, folder.policy)
    key = (folder.path / "approver.pem").read_bytes()

    typist = Typist("resume").answers("assphrase", PASSPHRASE)

    assert typist.leaves() == 0, typist.seen
    assert folder.held() == []
    assert (folder.path / "approver.pem").read_bytes() == key


@pytest.fixture
def served() -> Iterator[ServedExchange]:
    with served_exchange() as exchange:
        exchange.exchange.rights = KeyRights(trading=True)
        yield exchange


async def test_an_order_that_stands_at_binance_is_found_again_and_can_be_taken_back(
    served: ServedExchange, folder: TradingFolder
) -> None:
    leave_trading("practice", folder.path, folder.policy)
    await stand_again(served)
    settings = {
        **served.environment(),
        "BINANCE_WS_API_URL": f"ws://{served.host}/ws-api/v3",
        "BINANCE_NETWORK": "testnet",
        "MCP_BINANCE_TRADING": "practice",
        "MCP_BINANCE_TRADING_DIR": str(folder.path),
        "MCP_BINANCE_TRADING_POLICY": str(folder.policy),
        "MCP_BINANCE_STATE_DIR": "off",
    }

    async with running_app(read_settings(settings)) as app, Client(app.server, cache=None) as client:
        order = {"symbol": "BTCUSDT", "client_order_id": "mbt-dd4xbguxznxajkxjbbji"}
        shown = await called(client, "get_order", order)
        cancelled = await called(client, "cancel_order", order)

    assert shown["order"]["status"] == "NEW"
    assert cancelled["status"] == "CANCELED"
    assert standing(folder.path) == STOOD["practice"] | {"mbt-dd4xbguxznxajkxjbbji": "CANCELED"}


async def stand_again(served: ServedExchange) -> None:
    """Have the exchange know the orders of the folder by the numbers that it gave them then."""
    async with httpx2.AsyncClient(transport=Loop(served.exchange), base_url=served.rest_url) as api:
        trader = Trader(api, served.exchange, served.exchange.account)
        bought, gone, waits = STOOD["practice"]
        now: dict[str, object] = {"type": "MARKET", "price": None, "timeInForce": None}
        await trader.place(newClientOrderId=bought, quantity="0.00213", **now)
        await trader.place(newClientOrderId=gone, quantity="0.001", price="91000")
        await trader.cancel(gone)
        await trader.place(newClientOrderId=waits, quantity="0.001", price="90000")
        assert [(await trader.order(each))["status"] for each in STOOD["practice"]] == [*STOOD["practice"].values()]
