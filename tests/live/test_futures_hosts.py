"""What futures hosts say of our assumptions: read-only, without a key; the real ones only where somebody asks for them.

    pytest tests/live -s --live mainnet --live demo

Each check prints what it found and holds what we rely on, so that one that fails is a finding too. Every run makes the
same checks of the simulated exchange. What can be seen only beyond a limit is not tried: the answer to the 1,001st
request, a `Retry-After`, whether coin-margined contracts use the same 2,400.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise

import anyio
import httpx2
import msgspec
import pytest

from mcp_binance_server.app import App, running_app
from mcp_binance_server.exchange.dialing import NetworkDialer
from mcp_binance_server.exchange.futures.endpoints import ALL_DAYS, ALL_PREMIUMS, ALL_QUOTES, SHARE_HISTORIES
from mcp_binance_server.exchange.futures.side import FuturesSide
from mcp_binance_server.exchange.futures.stream_wire import MARK_PRICE_PATH
from mcp_binance_server.settings import read_settings
from support.process import Process

pytestmark = pytest.mark.anyio

SIMULATED, BTC = "simulated", "BTCUSDT"
LIQUID = 1_000_000
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
OLD_PATH = MARK_PRICE_PATH.removeprefix("/market")
HEADERS = ("x-mbx-used-weight-1m", "retry-after", "server", "via")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "place" in metafunc.fixturenames:
        metafunc.parametrize("place", [SIMULATED, *(metafunc.config.getoption("--live") or ())], scope="module")


@pytest.fixture(scope="module")
def environment(place: str) -> Iterator[dict[str, str]]:
    if place != SIMULATED:
        yield {"BINANCE_NETWORK": place}
        return
    with Process("simulator") as process:
        told = json.loads(process.line())
        yield {
            "BINANCE_REST_URL": told["rest"],
            "BINANCE_FUTURES_REST_URL": told["futures_rest"],
            "BINANCE_FUTURES_STREAM_URL": told["futures_streams"],
        }
        process.terminate()


@pytest.fixture
async def app(environment: dict[str, str]) -> AsyncIterator[App]:
    async with running_app(read_settings(environment)) as running:
        yield running


@pytest.fixture
def side(app: App) -> FuturesSide:
    assert app.futures is not None
    return app.futures


class Findings:
    """What one place said, line by line."""

    def __init__(self, place: str) -> None:
        self._place = place

    def say(self, what: str, found: object) -> None:
        print(f"{self._place}: {what}: {found}")  # noqa: T201 - what these checks are for


@pytest.fixture
def findings(place: str) -> Findings:
    return Findings(place)


async def heard(url: str, secs: float) -> str:
    """Say what comes first on a stream, or why nothing does."""
    try:
        connection = await NetworkDialer().connect(url)
    except OSError as error:
        return f"refused: {error}"
    try:
        with anyio.fail_after(secs):
            return str(msgspec.json.decode(await connection.recv(), type=dict[str, object]).get("e"))
    except TimeoutError:
        return "silent"
    except OSError as error:
        return f"ended: {error}"
    finally:
        await connection.close()


async def test_the_contract_list(side: FuturesSide, findings: Findings) -> None:
    table = await side.contracts.table()

    kinds = Counter((each.kind, each.status) for each in table.contracts.values())
    findings.say("weight in a minute", table.weight_limit)
    findings.say("contracts", dict(kinds.most_common()))
    assert table.find(BTC) is not None
    assert side.client.reads.dropped == 0


async def test_rows_and_size_of_what_boards_are_made_of(side: FuturesSide, app: App, findings: Findings) -> None:
    for call in (ALL_DAYS, ALL_PREMIUMS, ALL_QUOTES):
        body = await side.client.caller.read(call, {}, list[msgspec.Raw])
        findings.say(call.path, f"{len(body.value)} rows, {len(body.content):,} bytes")
        assert body.value
    spot, perpetual = [(await app.context.screener.boards.read(name)).board for name in ("spot", "perpetual")]
    volumes = zip(spot.texts("quote"), spot.texts("quote_volume"), strict=True)
    findings.say("spot pairs that trade", spot.count)
    findings.say("of them liquid USDT pairs", sum(quote == "USDT" and float(it) >= LIQUID for quote, it in volumes))
    findings.say("perpetuals that trade", dict(Counter(perpetual.texts("underlying"))))
    assert side.client.reads.dropped == app.market.client.reads.dropped == 0


@pytest.mark.night
async def test_funding_of_contracts_without_a_rule(side: FuturesSide, findings: Findings) -> None:
    table, rules = await side.contracts.table(), await side.contracts.rules()
    without = [symbol for symbol in table.perpetuals if symbol not in rules]
    findings.say("intervals told", dict(Counter(rule.interval_hours for rule in rules.values())))
    findings.say("perpetuals without a rule", len(without))

    for symbol in without[:3]:
        payments = [each for each in (await side.client.funding_payments(symbol)).value if each.is_regular]
        spaces = Counter(round((b.time_ms - a.time_ms) / HOUR_MS) for a, b in pairwise(payments))
        findings.say(f"hours between settlements of {symbol}", dict(spaces))
        findings.say(
            "least and largest rate", (min(each.rate for each in payments), max(each.rate for each in payments))
        )
        assert all(1 <= hours <= 24 for hours in spaces)


async def test_the_estimate_beside_the_last_settlement(side: FuturesSide, findings: Findings) -> None:
    premium = (await side.client.premium(BTC)).value
    last = (await side.client.funding_payments(BTC)).value[-1]

    assert premium.next_funding_ms is not None
    left_ms = premium.next_funding_ms - premium.time_ms
    findings.say("estimate, and minutes to its settlement", (premium.funding, round(left_ms / MINUTE_MS)))
    findings.say("settled last", last.rate)
    assert 0 <= left_ms <= 24 * HOUR_MS
    assert last.time_ms < premium.time_ms


async def test_the_age_of_the_newest_ratios(side: FuturesSide, findings: Findings) -> None:
    for kind in SHARE_HISTORIES:
        told = await side.client.shares(BTC, kind)
        age_ms = side.client.caller.time.now_ms() - told.value[-1].time_ms
        findings.say(f"minutes since the newest of {len(told.value)} {kind}", round(age_ms / MINUTE_MS))
        assert age_ms < 3 * HOUR_MS


async def test_what_a_host_says_beside_its_answers(side: FuturesSide, findings: Findings) -> None:
    async with httpx2.AsyncClient(base_url=side.client.caller.network.rest_url) as http:
        for path in (
            "/fapi/v1/time",
            f"/fapi/v1/ticker/bookTicker?symbol={BTC}",
            f"/fapi/v1/openInterest?symbol={BTC}",
        ):
            answer = await http.get(path)
            findings.say(path, (answer.status_code, {name: answer.headers.get(name) for name in HEADERS}))
            assert answer.status_code == 200


@pytest.mark.night
async def test_marks_come_on_their_route_and_not_on_the_old_one(side: FuturesSide, findings: Findings) -> None:
    url = side.client.caller.network.stream_url
    assert url is not None

    routed, old = await heard(f"{url}{MARK_PRICE_PATH}", 5), await heard(f"{url}{OLD_PATH}", 3)

    findings.say(f"{url}{MARK_PRICE_PATH}", routed)
    findings.say(f"{url}{OLD_PATH}", old)
    assert routed == "markPriceUpdate"
    assert old != "markPriceUpdate"
