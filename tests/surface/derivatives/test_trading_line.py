"""The one line of a perpetual on the page of its spot pair: there in time, or not there at all."""

import anyio
import httpx2
import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.futures.quirks import Quirk
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import Loop
from support.futures import FUTURES, FuturesPlace, futures_place

LINE = "**Perpetual**: "


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine take its time: two seconds are what a reader waits, not what these tests are about."""
    monkeypatch.setattr("mcp_binance_server.services.derivatives.service.GLANCE_SECS", 60.0)


async def analysed(client: Client, symbol: str) -> str:
    (message,) = (await client.get_prompt("trading_analysis", {"symbol": symbol})).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


def lines_of(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith(LINE)]


@pytest.mark.slow
async def test_the_line_says_what_get_derivatives_says(place: FuturesPlace) -> None:
    told = await place.told("SOLUSDT")

    page = await analysed(place.client, "SOLUSDT")

    (line,) = lines_of(page)
    lines = page.splitlines()
    assert lines[lines.index(line) - 1].startswith("**24h Volume**")
    assert f"{told['funding']['estimate']:+g}% per 8 h ({told['funding']['apr']:g}% a year)" in line
    assert "settles in 7 h 57 min" in line
    assert f"open interest 24h {told['open_interest']['change_contracts']['24h']:+g}% in contracts" in line
    assert f"mark vs index {told['basis']['mark_vs_index_bps']:+g} bps" in line


@pytest.mark.slow
@pytest.mark.parametrize(("symbol", "hours"), [("DOGEUSDT", 4), ("1INCHUSDT", 1), ("LTCUSDT", 8)])
async def test_the_interval_is_the_contracts_own(place: FuturesPlace, symbol: str, hours: int) -> None:
    (line,) = lines_of(await analysed(place.client, symbol))

    assert f"% per {hours} h (" in line


@pytest.mark.slow
async def test_all_other_lines_stay_as_they_are_without_it(place: FuturesPlace) -> None:
    page = await analysed(place.client, "SOLUSDT")
    groups = "market,account,orders,analysis,charts,guide"

    async with futures_place({"MCP_BINANCE_TOOLSETS": groups}) as other:
        without = await analysed(other.client, "SOLUSDT")

    assert lines_of(without) == []
    assert [line for line in page.splitlines() if not line.startswith(LINE)] == without.splitlines()


async def test_a_pair_without_a_perpetual_has_no_line(place: FuturesPlace) -> None:
    assert lines_of(await analysed(place.client, "ETHBTC")) == []


@pytest.mark.parametrize(
    "quirk", [Quirk(kind="region"), Quirk(kind="banned", ms=60_000), Quirk(kind="empty_list", path="/fapi/*")]
)
async def test_futures_that_refuse_cost_the_line_alone(place: FuturesPlace, quirk: Quirk) -> None:
    place.exchange.futures.quirks.add(quirk)

    page = await analysed(place.client, "SOLUSDT")

    assert page.startswith("# Market Analysis: SOLUSDT")
    assert (lines_of(page) == []) == (quirk.kind != "empty_list")


@pytest.mark.slow
async def test_a_futures_limit_is_no_error_of_the_page(place: FuturesPlace) -> None:
    place.exchange.futures.faults.add(Fault(kind="status", status=429, code=-1003, times=None))

    page = await analysed(place.client, "SOLUSDT")

    assert page.startswith("# Market Analysis: SOLUSDT")
    assert lines_of(page) == []


class Hanging(Loop):
    """The exchange in this process, whose futures take a question and never answer."""

    asked = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "futures.simulator.invalid":
            self.asked += 1
            await anyio.sleep_forever()
        return await super().handle_async_request(request)


async def test_futures_that_do_not_answer_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.services.derivatives.service.GLANCE_SECS", 0.05)
    clock = FakeClock()
    transport = Hanging(SimulatedExchange(clock))
    async with (
        running_app(read_settings({}), clock=clock, network=FUTURES, transport=transport) as app,
        Client(app.server, cache=None) as client,
    ):
        page = await analysed(client, "SOLUSDT")

    assert transport.asked
    assert page.startswith("# Market Analysis: SOLUSDT")
    assert lines_of(page) == []
