"""place_order through a client: once and the same again, after whoever must agree has, and never on anything else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError

from mcp_binance_server.domain.access import LOCAL
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.surface.server import build_server
from mcp_binance_server.surface.views.trading.orders import outcome_step, outcome_summary
from mcp_binance_server.trading.approvals import new_approver, sign
from mcp_binance_server.trading.desk import Placed
from mcp_binance_server.trading.journal.records import Intent
from support.asking import EVERYWHERE, User, willing
from support.paper import ASKS_ALWAYS, AT_ONCE, LOW, RESTING, SMALL, SYMBOL, PaperTrader, paper_trader
from support.terms import intent, terms

HTTP_AND_PIPES = [name for name in EVERYWHERE if name.startswith(("http", "stdio", "memory"))]


def trading(trader: PaperTrader) -> TradingService:
    service = trader.market.app.context.acting_for(None, visitor=LOCAL).trading
    assert service is not None
    return service


async def orders_of(trader: PaperTrader) -> int:
    told = await trader.call("get_all_orders", symbol=SYMBOL)
    return told.data["count"]


@pytest.mark.slow
async def test_a_preview_is_placed_and_the_answer_says_that_no_money_was_moved(tmp_path: Path, era: str) -> None:
    async with paper_trader(tmp_path, era=era) as trader:
        told = await trader.placed(**AT_ONCE)

    assert told.text.startswith(f"PAPER: order {told.data['client_order_id']} is FILLED: ")
    assert told.data["summary"] == told.text.partition("\n")[0]
    assert (told.data["outcome"], told.data["mode"], told.data["host"]) == ("placed", "paper", "paper")
    assert any(each.startswith("No real money") for each in told.data["notes"])
    assert "No real money" in told.text


@pytest.mark.slow
async def test_the_same_preview_again_is_the_same_order_also_when_two_ask_at_once(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        preview_id = await trader.previewed(**RESTING)
        answers: list[str] = []

        async def place() -> None:
            result = await trader.client.call_tool("place_order", {"preview_id": preview_id})
            answers.append(result.structured_content["client_order_id"])

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(place)
            await trader.market.run(1)
        later = await trader.call("place_order", preview_id=preview_id)
        await trader.market.run(200)  # the preview is over, the right to ask is not
        much_later = await trader.call("place_order", preview_id=preview_id)

        assert await orders_of(trader) == 1
    assert {*answers, later.data["client_order_id"], much_later.data["client_order_id"]} == {f"mbp-{preview_id}"}


@pytest.mark.slow
async def test_the_same_order_in_two_previews_at_once_is_placed_once(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        previews = [await trader.previewed(**RESTING) for _ in range(5)]
        answers: list[dict[str, Any]] = []

        async def place(preview_id: str) -> None:
            result = await trader.client.call_tool("place_order", {"preview_id": preview_id})
            answers.append(result.structured_content or {})

        async with anyio.create_task_group() as tasks:
            for preview_id in previews:
                tasks.start_soon(place, preview_id)
            await trader.market.run(1)

        assert await orders_of(trader) == 1
    refused = [each for each in answers if each.get("error_type") == "order_denied"]
    assert [each["guard"] for each in refused] == ["duplicate"] * 4


@pytest.mark.slow
async def test_an_order_that_waits_says_how_to_follow_it_and_how_to_take_it_back(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        placed = await trader.placed(**RESTING)
        name = placed.data["client_order_id"]
        cancelled = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=name)
        again = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=name)

    assert placed.data["status"] == "NEW"
    assert f'get_order {{"symbol": "BTCUSDT", "client_order_id": "{name}"}}' in placed.data["next_step"]
    assert (cancelled.data["outcome"], again.data["outcome"]) == ("cancelled", "already_over")
    assert cancelled.text.startswith(f"PAPER: order {name} is cancelled: nothing was bought.")
    assert again.text.startswith("PAPER: nothing to cancel.")
    assert not again.is_error


@pytest.mark.slow
async def test_all_orders_of_a_symbol_are_cancelled_at_once_and_others_stay(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        first = await trader.placed(**RESTING)
        second = await trader.placed(**{**RESTING, "price": "116400"})
        other = await trader.call("cancel_all_orders", symbol="ETHUSDT")
        done = await trader.call("cancel_all_orders", symbol=SYMBOL)

    assert other.data["cancelled"] == {}
    assert {*done.data["cancelled"]} == {first.data["client_order_id"], second.data["client_order_id"]}
    assert done.text.startswith("PAPER: 2 orders cancelled on BTCUSDT, none left open.")


@pytest.mark.slow
@pytest.mark.parametrize("name", HTTP_AND_PIPES)
async def test_a_user_who_chooses_so_has_the_order_placed(tmp_path: Path, name: str) -> None:
    user = willing()
    async with paper_trader(tmp_path, ASKS_ALWAYS, connect=EVERYWHERE[name], user=user) as trader:
        told = await trader.placed(**AT_ONCE)

    (form,) = user.read
    assert told.data["outcome"] == "placed"
    assert told.data["confirmed_by"] == "the user, in the client's form"
    assert form.message.startswith(
        "PAPER: place this order? No real money is moved.\nBUY 0.00423 BTC (BTCUSDT)\nMARKET"
    )


@pytest.mark.slow
async def test_a_user_who_does_not_is_not_asked_again(tmp_path: Path, era: str) -> None:
    user = User("accept", {"decision": "do not place it"})
    name = "memory, handshake" if era == "legacy" else "memory, 2026-07-28"
    async with paper_trader(tmp_path, ASKS_ALWAYS, connect=EVERYWHERE[name], user=user) as trader:
        preview_id = await trader.previewed(**RESTING)
        first = await trader.call("place_order", preview_id=preview_id)
        second = await trader.call("place_order", preview_id=preview_id)

        assert await orders_of(trader) == 0
    assert [first.data["error_type"], second.data["error_type"]] == ["declined", "declined"]
    assert first.text.startswith(
        "PAPER: This order was declined, by the user or by a client that could not ask. Nothing was sent."
    )
    assert len(user.read) == 1


@pytest.mark.slow
async def test_after_three_noes_nobody_is_asked_for_a_while(tmp_path: Path) -> None:
    user = User("decline")
    async with paper_trader(tmp_path, ASKS_ALWAYS, connect=EVERYWHERE["memory, handshake"], user=user) as trader:
        for price in ("116500", "116400", "116300"):
            await trader.placed(**{**RESTING, "price": price})
        fourth = await trader.placed(**{**RESTING, "price": "116200"})

    assert fourth.data["error_type"] == "asked_too_often"
    assert len(user.read) == 3


@pytest.mark.slow
async def test_where_nobody_can_be_asked_and_nobody_signs_nothing_is_placed(tmp_path: Path, era: str) -> None:
    async with paper_trader(tmp_path, ASKS_ALWAYS, era=era) as trader:
        told = await trader.placed(**RESTING)

        assert await orders_of(trader) == 0
    assert (told.is_error, told.data["error_type"]) == (True, "approval_impossible")
    assert "this client cannot show questions" in told.text


@pytest.mark.slow
async def test_an_order_waits_for_a_signature_and_is_placed_with_it_alone(tmp_path: Path, era: str) -> None:
    approver = new_approver("a long passphrase")
    policy = f'[confirm]\nask = "always"\nclient_per_order = "10"\napprover = "{approver.public}"\n'
    async with paper_trader(tmp_path, policy, era=era) as trader:
        preview_id = await trader.previewed(**RESTING)
        waits = await trader.call("place_order", preview_id=preview_id)
        status = await trader.call("get_trading_status")
        agreements = trading(trader).agreements
        (waiting,) = await agreements.waiting(trader.market.clock.now_ms())
        other = sign(approver.sealed, "a long passphrase", terms(), waiting.preview_id)
        await agreements.approve(waiting.preview_id, other, 1)
        with_another = await trader.call("place_order", preview_id=preview_id)
        own = sign(approver.sealed, "a long passphrase", waiting.terms, waiting.preview_id)
        await agreements.approve(waiting.preview_id, own, 2)
        placed = await trader.call("place_order", preview_id=preview_id)

    assert waits.text.startswith(f"PAPER: not sent. Waiting for your approval: mcp-binance-server approve {preview_id}")
    assert (waits.is_error, waits.data["outcome"], with_another.data["outcome"]) == (
        False,
        "waiting_for_approval",
        "waiting_for_approval",
    )
    assert preview_id in status.data["waiting"][0]
    assert (placed.data["outcome"], placed.data["confirmed_by"]) == ("placed", "the approver's signature")


@pytest.mark.slow
async def test_a_question_that_nobody_answers_can_be_asked_again(tmp_path: Path) -> None:
    user = willing(may=anyio.Event())
    async with paper_trader(tmp_path, ASKS_ALWAYS) as trader:
        dispatcher = replace(trader.market.app.dispatcher, ask_secs=0.05)
        app = replace(trader.market.app, dispatcher=dispatcher, server=build_server(dispatcher))
        async with EVERYWHERE["memory, handshake"](app, user) as client:
            impatient = replace(trader, client=client)
            preview_id = await impatient.previewed(**RESTING)
            told = [await impatient.call("place_order", preview_id=preview_id) for _ in range(2)]

        assert await orders_of(trader) == 0
    assert [each.data["outcome"] for each in told] == ["waiting_for_approval"] * 2
    assert told[0].text.startswith("PAPER: not sent. Waiting for your answer: the question was not answered in time")
    assert told[0].data["next_step"] == f'place_order {{"preview_id": "{preview_id}"}} asks again'
    assert len(user.read) == 2


STOP = {
    "symbol": SYMBOL,
    "side": "SELL",
    "type": "STOP_LOSS_LIMIT",
    "quantity": "0.004",
    "price": "115000",
    "stop_price": "116000",
}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "outcome"), [("cancel this stop", "cancelled"), ("leave it as it is", "declined")])
async def test_a_stop_is_taken_away_by_its_user_alone(tmp_path: Path, answer: str, outcome: str) -> None:
    buyer = willing()
    async with paper_trader(tmp_path, ASKS_ALWAYS, connect=EVERYWHERE["memory, handshake"], user=buyer) as trader:
        await trader.placed(**AT_ONCE)
        stop = (await trader.placed(**STOP)).data["client_order_id"]
        all_of_them = await trader.call("cancel_all_orders", symbol=SYMBOL)
        unasked = replace(trader, client=trader.market.client)
        waits = await unasked.call("cancel_order", symbol=SYMBOL, client_order_id=stop)
        buyer.content = {"decision": answer}
        decided = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=stop)

    assert [*all_of_them.data["left"]] == [stop]
    assert waits.text.startswith(
        f"PAPER: not cancelled. It is a stop; cancel it yourself: mcp-binance-server cancel {stop}"
    )
    assert (waits.is_error, waits.data["outcome"]) == (False, "waiting_for_approval")
    assert (decided.data.get("outcome") or decided.data["error_type"]) == outcome
    assert buyer.read[-1].message.startswith(
        "PAPER: cancel this stop? No real money is moved.\nSELL 0.004 BTC (BTCUSDT)"
    )


@pytest.mark.slow
async def test_an_order_that_the_exchange_never_had_is_told_from_the_journal(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        service = trading(trader)
        new = intent(1, account="paper", policy=service.policy.digest)
        ledger = service.desk.ledger
        await ledger.claim(new, (), service.now_ms(), None)
        await ledger.move(new.preview_id, "NOT_SENT", {"reason": "the *line* was down"}, service.now_ms())
        told = await trader.call("get_order", symbol=SYMBOL, client_order_id=new.client_order_id)
        nobodys = await trader.call("get_order", symbol=SYMBOL, client_order_id="mbp-nobodys")

    assert told.text.startswith(f"PAPER: order {new.client_order_id} is not at the exchange; journal: not sent.")
    assert told.data["order"] is None
    assert told.data["journal"]["state"] == "NOT_SENT"
    assert told.data["journal"]["history"][-1].endswith('not sent ("the *line* was down")')
    assert "the \\*line\\* was down" in told.text
    assert nobodys.is_error


@pytest.mark.slow
async def test_an_order_whose_end_is_not_known_is_not_to_be_placed_again(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        service = trading(trader)
        placed = await service.told(Placed(await _claimed(service)))

    assert outcome_summary(placed) == (
        f"PAPER: DO NOT PLACE IT AGAIN. Order {placed.intent.client_order_id} may be open at the paper exchange."
    )
    assert "place_order again with the same preview_id is safe: it only checks" in outcome_step(placed)


async def _claimed(service: TradingService) -> Intent:
    new = intent(2, account="paper")
    ledger = service.desk.ledger
    await ledger.claim(new, (), service.now_ms(), None)
    await ledger.mark_sent(new.preview_id, service.now_ms())
    return await ledger.move(new.preview_id, "UNKNOWN", {}, service.now_ms())


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"preview_id": "x"},
        {"preview_id": "a" * 20, "confirmed": True},
        {"preview_id": "a" * 20, "quantity": "1"},
        {"preview_id": "A" * 20},
        {"symbol": SYMBOL, "side": "BUY", "quantity": SMALL, "price": LOW},
    ],
)
async def test_nothing_but_an_id_is_taken(tmp_path: Path, arguments: dict[str, object]) -> None:
    async with paper_trader(tmp_path) as trader:
        trader.market.asked()
        told = await trader.call("place_order", **arguments)

        assert trader.market.asked() == []
    assert (told.is_error, told.data["error_type"]) == (True, "invalid_arguments")


@pytest.mark.slow
async def test_an_id_that_nobody_was_given_is_none(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        trader.market.asked()
        told = await trader.call("place_order", preview_id="a" * 20)

        assert trader.market.asked() == []
    assert (told.is_error, told.data["error_type"]) == (True, "preview_not_found")


@pytest.mark.slow
async def test_neither_a_prompt_nor_a_page_places_anything(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        preview_id = await trader.previewed(**RESTING)
        for uri in (f"binance://orders/{preview_id}", f"binance://trade/{preview_id}", "binance://trade/place_order"):
            with pytest.raises(MCPError, match="Resource not found"):
                await trader.client.read_resource(uri)
        with pytest.raises(MCPError, match="Unknown prompt"):
            await trader.client.get_prompt("place_order", {"preview_id": preview_id})

        assert await orders_of(trader) == 0


@pytest.mark.slow
async def test_all_that_is_free_can_be_sold_and_nothing_cannot(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        nothing = await trader.call("preview_order", symbol=SYMBOL, side="SELL", type="MARKET", quantity="all")
        bought = await trader.placed(**AT_ONCE)
        buys_all = await trader.call("preview_order", symbol=SYMBOL, side="BUY", type="MARKET", quantity="all")
        sold = await trader.placed(symbol=SYMBOL, side="SELL", type="MARKET", quantity="ALL")

    assert "of the 0 BTC held is less than the lot step" in nothing.text
    assert bought.data["executed"] == "0.00423"
    assert "use quote_quantity" in buys_all.text
    assert sold.data["executed"] == "0.00422"  # what the fee left, on the exchange's grid


@pytest.mark.slow
@pytest.mark.parametrize(("stays", "status"), [("IOC", "EXPIRED"), ("FOK", "EXPIRED"), ("GTC", "NEW")])
async def test_an_order_stays_as_long_as_it_says(tmp_path: Path, stays: str, status: str) -> None:
    async with paper_trader(tmp_path) as trader:
        told = await trader.placed(**RESTING, time_in_force=stays)

    assert told.data["status"] == status
    assert stays in told.data["order"]


@pytest.mark.slow
async def test_the_market_is_streamed_from_the_preview_on(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        hub = trader.market.app.context.live.hub
        assert hub is not None
        before = {each.feed.symbol for each in hub.watched()}

        await trader.previewed(**{**AT_ONCE, "symbol": "ETHUSDT"})

        assert {each.feed.symbol for each in hub.watched()} - before == {"ETHUSDT"}
