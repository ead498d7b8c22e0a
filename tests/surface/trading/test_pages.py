"""The texts of trading as a user and a model read them, kept to be read in review, and complete in both channels."""

from pathlib import Path

import pytest

from mcp_binance_server.trading.approvals import new_approver
from support.asking import EVERYWHERE, willing
from support.channels import Structure, Text
from support.golden import Golden
from support.paper import AT_ONCE, LOW, RESTING, SMALL, SYMBOL, PaperTrader, Told, paper_trader

LIMITED = '[limits]\nsymbols = ["BTCUSDT"]\nper_order = "250"\nper_day = "1000"\nposition = { BTC = "2000" }\n'
FOLDER = "views/trading"


def differences(told: Told) -> list[str]:
    """Return what only one of both channels says."""
    return [*Text(told.text).missing(told.data), *Structure(told.data).missing(told.text)]


@pytest.mark.slow
async def test_what_a_first_day_on_paper_looks_like(tmp_path: Path, golden: Golden) -> None:
    async with paper_trader(tmp_path, LIMITED) as trader:
        told = {
            "status": await trader.call("get_trading_status"),
            "preview_market": await trader.call("preview_order", **{**AT_ONCE, "quote_quantity": "200"}),
            "preview_limit": await trader.call("preview_order", **RESTING),
            "denied_preview": await trader.call("preview_order", **AT_ONCE),
            "placed": await trader.placed(**{**AT_ONCE, "quote_quantity": "200"}),
            "waits_for_its_price": await trader.placed(**RESTING),
            "status_later": await trader.call("get_trading_status"),
        }
        name = told["waits_for_its_price"].data["client_order_id"]
        told["order"] = await trader.call("get_order", symbol=SYMBOL, client_order_id=name)
        told["cancelled"] = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=name)
        told["cancelled_all"] = await trader.call("cancel_all_orders", symbol=SYMBOL)
        told["not_found"] = await trader.call("place_order", preview_id="a" * 20)
        journal = await trader.page("binance://orders/journal")
        index = await trader.page("binance://orders")
        told["stopped"] = await trader.call("stop_trading", reason="the user wants a pause")
        told["denied"] = await trader.call("place_order", preview_id=await _id_of(trader, told["preview_limit"]))

    for page, each in told.items():
        assert each.text.startswith("PAPER: "), page
        golden.check(f"{FOLDER}/{page}.md", each.steady_text + "\n")
    golden.check(f"{FOLDER}/journal.md", journal + "\n")
    golden.check(f"{FOLDER}/order_index.md", index + "\n")
    assert {page: found for page, each in told.items() if (found := differences(each))} == {}


async def _id_of(_trader: PaperTrader, told: Told) -> str:
    return told.data["preview_id"]


@pytest.mark.slow
async def test_what_a_user_is_asked_and_what_waits_for_them(tmp_path: Path, golden: Golden) -> None:
    approver = new_approver("a long passphrase").public
    policy = f'[confirm]\nask = "always"\nclient_per_order = "60"\napprover = "{approver}"\n'
    user = willing()
    async with paper_trader(tmp_path, policy, connect=EVERYWHERE["memory, handshake"], user=user) as trader:
        asked = await trader.placed(**RESTING)
        waits = await trader.placed(symbol=SYMBOL, side="BUY", price=LOW, quantity="0.001")
        status = await trader.call("get_trading_status")

    assert asked.data["outcome"] == "placed"
    golden.check(f"{FOLDER}/question.txt", user.read[0].message + "\n")
    golden.check(f"{FOLDER}/waiting.md", waits.steady_text + "\n")
    golden.check(f"{FOLDER}/status_waiting.md", status.steady_text + "\n")
    assert differences(waits) == differences(status) == []


@pytest.mark.slow
@pytest.mark.parametrize("uri", ["binance://account", "binance://account/balances", "binance://orders/open"])
async def test_every_page_of_an_account_on_paper_says_so_first(tmp_path: Path, uri: str) -> None:
    async with paper_trader(tmp_path) as trader:
        assert (await trader.page(uri)).startswith("PAPER: a paper account, no real money.\n\n# ")


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["get_account_info", "get_open_orders", "get_all_orders", "get_portfolio"])
async def test_every_answer_about_an_account_on_paper_says_so_first(tmp_path: Path, tool: str) -> None:
    async with paper_trader(tmp_path) as trader:
        await trader.placed(**RESTING)
        told = await trader.call(tool)

    assert told.text.startswith("PAPER: a paper account, no real money.")
    assert told.data["mode"] == "paper"


@pytest.mark.slow
async def test_a_market_is_no_account_and_is_told_as_always(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        told = await trader.call("get_ticker", symbol=SYMBOL)
        page = await trader.page("binance://market/btcusdt")

    assert "PAPER" not in told.text + page
    assert "mode" not in told.data
    assert SMALL not in page
