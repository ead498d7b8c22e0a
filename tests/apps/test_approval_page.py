"""The approval page in a browser, at a live server of a simulated Binance: what a person does, and what others try."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page

from mcp_binance_server.cli.trading.host import TradingHost
from mcp_binance_server.cli.trading.page.deciding import OneDecision
from mcp_binance_server.cli.trading.page.html import HEADERS
from mcp_binance_server.cli.trading.page.http import listening
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.journal.store import opened_store
from support.evidence import evidence_folder
from support.live_desk import PASSPHRASE, LiveDesk, PageOpener, called, live_desk

WIDTHS = (420, 760, 1280)
# A page of another origin that knows the address, and sends the form of the page in the user's browser.
FORGED = """address => {
  const form = document.createElement('form');
  form.method = 'post'; form.action = address;
  form.innerHTML = '<input name=decision value=decline>';
  document.body.append(form); form.submit();
}"""


async def told(page: Page) -> str:
    await page.wait_for_selector("h1")
    return await page.inner_text("body")


async def typed(page: Page, passphrase: str) -> str:
    """Type it, press Enter, and return what the next page says."""
    await page.fill("#passphrase", passphrase)
    async with page.expect_navigation():
        await page.press("#passphrase", "Enter")
    return await told(page)


@asynccontextmanager
async def waiting_page(desk: LiveDesk, amount: int) -> AsyncGenerator[tuple[str, str]]:
    """Have an order wait, and serve its page here; yield its id and its address."""
    async with desk.client(None) as client:
        preview_id = await desk.previewed(client, amount)
        await called(client, "place_order", {"preview_id": preview_id})
    async with opened_store(desk.folder) as store:
        [one] = [each for each in await Agreements(store).waiting(0) if each.preview_id == preview_id]
    async with listening(HEADERS) as server:
        decision = OneDecision(TradingHost(desk.settings, desk.folder, SystemClock()), one, server.port)
        server.answer = decision.answer
        yield preview_id, decision.address


async def tries_of_others(context: BrowserContext, other: BrowserContext, address: str, elsewhere: str) -> list[str]:
    """Return what is told to a page of another origin, to another name of this machine, and to another browser."""
    forger, named, late = await context.new_page(), await context.new_page(), await other.new_page()
    await forger.goto(elsewhere)
    async with forger.expect_navigation():
        await forger.evaluate(FORGED, address)
    await named.goto(address.replace("127.0.0.1", "localhost"))
    await late.goto(address)
    return [await told(each) for each in (forger, named, late)]


async def test_a_person_reads_an_order_and_approves_it_and_nobody_else_does(
    whole_browser: Browser, tmp_path: Path
) -> None:
    user = PageOpener()
    async with live_desk(tmp_path) as desk, desk.client(user) as client:
        preview_id = await desk.previewed(client)
        await called(client, "place_order", {"preview_id": preview_id})
        [offer] = user.offers
        context, other = await whole_browser.new_context(), await whole_browser.new_context()
        page = await context.new_page()
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        await page.goto(offer.url)
        shown = await told(page)
        refused = await tries_of_others(context, other, offer.url, f"{desk.served.rest_url}/api/v3/time")
        quiet = [*problems]
        wrong, approved = await typed(page, "wrong"), await typed(page, PASSPHRASE)
        placed = await called(client, "place_order", {"preview_id": preview_id})
        states = await desk.states()
        await context.close()
        await other.close()

    assert f"LIVE ({desk.served.host}), REAL MONEY" in shown
    assert preview_id in shown
    assert ["request did not come from" in refused[0], "Unknown host name" in refused[1]] == [True, True]
    assert "belongs to the browser that opened it first" in refused[2]
    assert "Wrong passphrase (1 of 5" in wrong
    assert "Approved" in approved
    assert (placed["outcome"], len(desk.served.exchange.orders.accepted)) == ("placed", 1)
    assert [states.count(each) for each in ("APPROVED", "DECLINED", "WRONG_PASSPHRASE")] == [1, 0, 1]
    assert quiet == []  # the style is allowed by its hash, and nothing else is asked for


async def test_a_no_is_a_no_and_five_wrong_passphrases_stop_trading(whole_browser: Browser, tmp_path: Path) -> None:
    async with live_desk(tmp_path, MCP_BINANCE_APPROVAL_PAGE="off") as desk:
        context = await whole_browser.new_context()
        page = await context.new_page()
        async with waiting_page(desk, 300) as (preview_id, address):
            await page.goto(address)
            async with page.expect_navigation():
                await page.click("text=Do not place it")
            declined = await told(page)
            await page.goto(address)
            used = await told(page)
            async with desk.client(None) as client:
                after = await called(client, "place_order", {"preview_id": preview_id})
        async with waiting_page(desk, 400) as (preview_id, address):
            await page.goto(address)
            await looked_at(page)
            tries = [await typed(page, "wrong") for _ in range(5)]
            async with desk.client(None) as client:
                status = await called(client, "get_trading_status", {})
        await context.close()

    assert "Declined" in declined
    assert "This address was used: it was declined" in used
    assert after["error_type"] == "declined"
    assert "5 wrong passphrases: trading is stopped" in tries[-1]
    assert (status["is_stopped"], status["stopped_because"]) == (True, "5 wrong passphrases")
    assert desk.served.exchange.orders.accepted == []


async def looked_at(page: Page) -> None:
    """Make sure that the page fits every width, light and dark, and keep how it looks."""
    grounds: set[str] = set()
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 900})
            await page.screenshot(path=evidence_folder() / f"approval-{scheme}-{width}.png", full_page=True)
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert await page.is_visible("text=Approve this order")
        grounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2
