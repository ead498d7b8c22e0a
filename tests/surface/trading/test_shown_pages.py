"""An order that needs a signature is shown as a page: to open it agrees to nothing, and nobody else hears where."""

import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from cli.trading.served_page import Hand
from mcp_binance_server.domain.access import SCOPES, Vault, Visitor
from mcp_binance_server.services.trading import approval_pages
from mcp_binance_server.services.trading.approval_pages import MOST_PAGES, ApprovalPages
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.trading.approvals import APPROVER_FILE
from mcp_binance_server.trading.judgement.terms import PreviewId
from support.live_desk import PASSPHRASE, LiveDesk, PageOpener, called, live_desk

SECRET = "a-secret-that-nobody-else-hears"  # noqa: S105 - of these tests alone
ADDRESS = f"http://127.0.0.1:9/{SECRET}"
# In place of the page's process: it says what that says, and lasts as long as that.
PAGE = f"""import sys
told = "{ADDRESS}" if "--print-address" in sys.argv else "The page is open in your browser."
print(told, flush=True)
sys.stdin.read()
"""
OPEN = "decides on the page open"


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a page that costs nothing to start."""
    monkeypatch.setattr(approval_pages, "COMMAND", (sys.executable, "-S", "-E", "-c", PAGE))


@pytest.fixture
async def desk(tmp_path: Path, light: None) -> AsyncIterator[LiveDesk]:
    del light
    async with live_desk(tmp_path) as desk:
        yield desk


@pytest.mark.slow
async def test_a_client_opens_the_page_and_the_signature_made_there_places_the_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    user = PageOpener()
    async with live_desk(tmp_path) as desk, desk.client(user) as client:
        preview_id = await desk.previewed(client)
        waits = await called(client, "place_order", {"preview_id": preview_id})
        told: list[object] = [waits, await called(client, "get_trading_status", {})]
        told.append(await client.read_resource("binance://orders/journal"))
        [offer] = user.offers
        hand = Hand.of(offer.url)
        shown = await anyio.to_thread.run_sync(hand.get)
        looked = [*desk.served.exchange.orders.accepted]
        signed = await anyio.to_thread.run_sync(hand.post, "approve", PASSPHRASE)
        placed = await called(client, "place_order", {"preview_id": preview_id})
        trading = desk.app.context.trading

    assert (waits["outcome"], placed["outcome"]) == ("waiting_for_approval", "placed")
    assert (shown.status, signed.status, looked) == (200, 200, [])
    assert len(desk.served.exchange.orders.accepted) == 1
    secret = offer.url.rpartition("/")[2]
    assert secret not in f"{told}{placed}{caplog.text}"
    assert not any(secret.encode() in each.read_bytes() for each in desk.folder.rglob("*") if each.is_file())
    assert trading is not None
    assert trading.pages is not None
    assert desk.served.exchange.account.secret_key not in str(trading.pages.environment)


@pytest.mark.slow
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_page_is_offered_once_and_the_order_waits_until_it_is_signed(desk: LiveDesk, era: str) -> None:
    user = PageOpener()
    async with desk.client(user, era) as client:
        preview_id = await desk.previewed(client)
        waits = [await called(client, "place_order", {"preview_id": preview_id}) for _ in range(2)]
        await desk.signed(preview_id)
        placed = await called(client, "place_order", {"preview_id": preview_id})

    [offer] = user.offers
    assert offer.url == ADDRESS
    assert offer.message.startswith(f"LIVE ({desk.served.host}): place this order?")
    assert "Opening it approves nothing." in offer.message
    assert [(each["outcome"], OPEN in each["next_step"]) for each in waits] == [("waiting_for_approval", True)] * 2
    assert (placed["outcome"], SECRET in f"{waits}{placed}") == ("placed", False)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_who_will_not_look_has_said_no_and_who_looks_away_nothing(desk: LiveDesk, era: str) -> None:
    user = PageOpener("cancel")
    async with desk.client(user, era) as client:
        preview_id = await desk.previewed(client)
        waits = await called(client, "place_order", {"preview_id": preview_id})
        user.action = "decline"
        declined = [await called(client, "place_order", {"preview_id": preview_id}) for _ in range(2)]

    assert waits["outcome"] == "waiting_for_approval"
    assert OPEN not in waits["next_step"]
    assert f"mcp-binance-server approve {preview_id}" in waits["summary"]
    assert [each["error_type"] for each in declined] == ["declined"] * 2
    assert len(user.offers) == 2
    assert "DECLINED" in await desk.states()
    assert desk.served.exchange.orders.accepted == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "screen", "opens"), [("browser", ":0", True), ("browser", "", False), ("client", ":0", False)]
)
@pytest.mark.usefixtures("light")
async def test_where_the_client_cannot_a_browser_is_opened_if_it_can_be_seen_and_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, screen: str, *, opens: bool
) -> None:
    monkeypatch.setenv("DISPLAY", screen)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    async with live_desk(tmp_path, MCP_BINANCE_APPROVAL_PAGE=page) as desk, desk.client(None) as client:
        preview_id = await desk.previewed(client)
        waits = await called(client, "place_order", {"preview_id": preview_id})
        await desk.signed(preview_id)
        placed = await called(client, "place_order", {"preview_id": preview_id})

    assert (OPEN in waits["next_step"]) is opens
    assert (waits["outcome"], placed["outcome"]) == ("waiting_for_approval", "placed")


@pytest.mark.slow
async def test_nobody_elses_client_hears_of_a_page_and_nor_does_one_that_was_said_no_to_too_often(
    desk: LiveDesk,
) -> None:
    dispatcher = desk.app.dispatcher
    assert dispatcher.owner is not None
    holder = Caller(Visitor("a token", SCOPES), Vault(dispatcher.owner))
    order = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": "500"}
    user = PageOpener("decline")
    preview = await dispatcher.call_tool(holder, "preview_order", order)
    assert preview.structured_content is not None
    preview_id: str = preview.structured_content["preview_id"]
    told: list[dict[str, Any]] = []
    async with desk.client(user) as client:
        for _ in range(4):
            mine = await desk.previewed(client)
            told.append(await called(client, "place_order", {"preview_id": mine}))
    theirs = await dispatcher.call_tool(holder, "place_order", {"preview_id": preview_id})

    assert told[-1]["outcome"] == "waiting_for_approval"
    assert len(user.offers) == 3
    assert OPEN not in str(theirs.structured_content)


@pytest.mark.usefixtures("light")
async def test_there_is_one_page_for_an_order_and_few_at_a_time(tmp_path: Path) -> None:
    key = tmp_path / APPROVER_FILE
    pages = ApprovalPages(key, {}, opens=False)
    async with pages.running():
        without_key = await pages.of(PreviewId("a"), by_client=True)
        key.touch()
        browser = await pages.of(PreviewId("a"), by_client=False)
        made = [await pages.of(PreviewId(name), by_client=True) for name in "aabcd"]
        pages.close(PreviewId("b"))
        pages.close(PreviewId("nobody"))
        with anyio.fail_after(20):
            while (after := await pages.of(PreviewId("d"), by_client=True)) is None:
                await anyio.lowlevel.checkpoint()

    assert (without_key, browser, made[-1]) == (None, None, None)
    assert made[0] is made[1]
    assert len({*made} - {None}) == MOST_PAGES
    assert after.address == ADDRESS
    assert SECRET not in repr(after)
    assert await pages.of(PreviewId("e"), by_client=True) is None


@pytest.mark.parametrize("code", ["", "print('nonsense')", "print('x' * 600, end='')", "import sys; sys.stdin.read()"])
async def test_a_page_that_does_not_begin_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(approval_pages, "COMMAND", (sys.executable, "-S", "-E", "-c", code))
    monkeypatch.setattr(approval_pages, "START_SECS", 0.5)
    (tmp_path / APPROVER_FILE).touch()
    pages = ApprovalPages(tmp_path / APPROVER_FILE, {}, opens=True)

    async with pages.running():
        assert await pages.of(PreviewId("a"), by_client=True) is None


async def test_without_the_program_there_is_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approval_pages, "COMMAND", ("/nonexistent",))
    (tmp_path / APPROVER_FILE).touch()
    pages = ApprovalPages(tmp_path / APPROVER_FILE, {}, opens=True)

    async with pages.running():
        assert await pages.of(PreviewId("a"), by_client=True) is None
