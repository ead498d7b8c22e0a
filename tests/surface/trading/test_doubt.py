"""What is said of orders that may stand, were not found, or were found where nobody expected them; in both channels."""

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.services.trading.answers import PlacedOrder
from mcp_binance_server.surface.tools.trading.outcomes import order_outcome
from mcp_binance_server.surface.views.trading.orders import outcome_step, outcome_summary, outcome_text
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.records import Intent, IntentState
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.reconciling import NOBODY
from mcp_binance_server.trading.requests import written_order
from support.paper import RESTING, SYMBOL, Told, paper_trader
from support.terms import NOW_MS, intent
from surface.trading.test_pages import differences
from surface.trading.test_placing import trading
from trading.bench import own, placed
from trading.test_filters import BTC

VENUE = Venue("testnet", "testnet.binance.vision")


async def ended_as(folder: Path, *states: IntentState) -> Intent:
    async with opened_store(folder) as store:
        ledger, new = HostLedger(store, "me"), own()
        if states == ("ADOPTED",):
            order = placed(written_order(new.terms, new.client_order_id))
            adopted = await ledger.adopt(replace(new, visitor=NOBODY), (), order, NOW_MS)
            assert adopted is not None
            return adopted
        await ledger.claim(new, (), NOW_MS)
        found = await ledger.find(new.preview_id)
        for each in states:
            found = await ledger.move(new.preview_id, each, {}, NOW_MS)
    assert found is not None
    return found


def told_of(stands: Intent, reason: str = "") -> Told:
    order = PlacedOrder(stands, BTC, "practice", VENUE, NOW_MS, reason)
    summary, step = outcome_summary(order), outcome_step(order)
    answer = order_outcome(order, order.outcome, summary, step)
    return Told(outcome_text(order, summary, step), answer.model_dump(mode="json", exclude_none=True), is_error=False)


@pytest.mark.parametrize("states", [("SENT",), ("SENT", "UNKNOWN")])
async def test_an_order_that_may_stand_must_not_be_placed_again(
    tmp_path: Path, states: tuple[IntentState, ...]
) -> None:
    told = told_of(await ended_as(tmp_path, *states), "no answer within 15 s: it may have been executed")

    first = f"PRACTICE (testnet): DO NOT PLACE IT AGAIN. Order {own().client_order_id} may be open at Binance."
    assert told.text.startswith(f"{first}\n")
    assert (told.data["outcome"], told.data["summary"]) == ("unknown", first)
    assert "get_order" in told.data["next_step"]
    assert "place_order again with the same preview_id is safe: it only checks" in told.data["next_step"]
    assert differences(told) == []


async def test_an_order_that_was_not_found_is_most_likely_not_executed_and_no_failure(tmp_path: Path) -> None:
    told = told_of(await ended_as(tmp_path, "SENT", "UNKNOWN", "NOT_PLACED"))

    assert "was not found, most likely not executed; monitored for a day" in told.text
    assert "fail" not in told.text
    assert told.data["outcome"] == "unknown"
    assert "A new order is the user's decision: both may be executed" in told.data["next_step"]
    assert differences(told) == []


async def test_an_adopted_order_does_not_claim_that_somebody_agreed_to_it(tmp_path: Path) -> None:
    told = told_of(await ended_as(tmp_path, "ADOPTED"))

    assert (told.data["outcome"], told.data["journal"]) == ("placed", "ADOPTED")
    assert told.data["confirmed_by"] == "not known; found at the exchange, missing from this journal"
    assert differences(told) == []


@pytest.mark.slow
async def test_an_adopted_order_is_an_alarm_of_the_status_and_known_to_whoever_asks(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        service = trading(trader)
        new = replace(intent(3, symbol=SYMBOL, account="paper"), visitor=NOBODY)
        order = replace(placed(written_order(new.terms, new.client_order_id)), created_ms=service.now_ms())
        await service.desk.ledger.adopt(new, (), order, service.now_ms())

        status = await trader.call("get_trading_status")
        again = await trader.call("place_order", preview_id=new.preview_id)
        later = await trader.call("get_order", symbol=SYMBOL, client_order_id=new.client_order_id)
        page = await trader.page("binance://orders/journal")

    alarm = "ALARM: orders found at the exchange, missing from this journal: 1."
    assert alarm in status.data["summary"]
    assert new.client_order_id in status.data["adopted"][0]
    assert (again.is_error, again.data["outcome"], again.data["journal"]) == (False, "placed", "ADOPTED")
    assert later.data["journal"]["state"] == "ADOPTED"
    assert "| ADOPTED |" in page
    assert differences(status) == differences(again) == []


@pytest.mark.slow
async def test_while_nobody_knows_an_order_get_order_says_so_and_a_new_one_is_refused(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        preview_id = await trader.previewed(**RESTING)
        service, lost = trading(trader), intent(7, symbol=SYMBOL, account="paper")
        ledger, now_ms = service.desk.ledger, service.now_ms()
        await ledger.claim(lost, (), now_ms)
        await ledger.mark_sent(lost.preview_id, now_ms)
        await ledger.move(lost.preview_id, "UNKNOWN", {}, now_ms)

        told = await trader.call("get_order", symbol=SYMBOL, client_order_id=lost.client_order_id)
        refused = await trader.call("place_order", preview_id=preview_id)

    assert told.text.startswith(
        f"PAPER: DO NOT PLACE IT AGAIN. Order {lost.client_order_id} is not at the exchange yet"
    )
    assert (refused.is_error, refused.data["error_type"]) == (True, "order_unresolved")
    assert refused.data["client_order_id"] == lost.client_order_id
