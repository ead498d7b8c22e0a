"""What a browser gets that opens the address: a page without scripts, in the demo with one, only for a Host of ours."""

import re
from base64 import b64encode
from collections.abc import AsyncGenerator
from hashlib import sha256

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.cli.demo import GREETING
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.auth.authenticator import Headers, Unauthenticated
from mcp_binance_server.transports.http.front_page import front_page
from support.clock import FakeClock
from support.webapp import HttpClient, OpenHttp

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


async def test_a_browser_is_told_what_this_is_and_how_to_connect(http: HttpClient) -> None:
    answer = await http.get("/", headers=BROWSER)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "claude mcp add --transport http binance http://127.0.0.1:3000/mcp" in answer.text
    assert "token" not in answer.text


async def test_the_page_has_no_scripts_and_allows_none(http: HttpClient) -> None:
    answer = await http.get("/", headers=BROWSER)

    policy = answer.headers["content-security-policy"]
    (style,) = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    assert not re.search(r"<script|javascript:|\son\w+=", answer.text)
    assert policy.startswith("default-src 'none'; ")
    assert "script-src" not in policy
    assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy
    assert not re.search(r'(?:href|src)="(?!/|data:,)', answer.text), "nothing is fetched from elsewhere"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("accept", ["*/*", "application/json, text/event-stream", ""])
async def test_every_other_client_is_told_where_mcp_is(http: HttpClient, accept: str) -> None:
    answer = await http.get("/", headers={"accept": accept})

    assert answer.status_code == 404
    assert "MCP is at /mcp" in answer.json()["error"]["message"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_the_page_is_only_read(http: HttpClient, method: str) -> None:
    assert (await http.request(method, "/", headers=BROWSER)).status_code == 404


async def test_a_name_that_is_not_ours_gets_no_page(http: HttpClient) -> None:
    rebound = await http.get("/", headers={**BROWSER, "host": "rebound.example"})
    foreign = await http.get("/", headers={**BROWSER, "origin": "https://rebound.example"})

    assert (rebound.status_code, foreign.status_code) == (421, 403)
    assert "<html" not in rebound.text + foreign.text


async def test_the_address_on_the_page_is_the_one_that_was_opened(open_http: OpenHttp) -> None:
    async with open_http(allowed=allow(["mcp.example.com:*"])) as http:
        answer = await http.get("/", headers={**BROWSER, "host": "mcp.example.com:8443"})

    assert "http://mcp.example.com:8443/mcp" in answer.text


class Locked:
    """Lets nobody in."""

    async def visitor(self, headers: Headers, query: bytes) -> None:  # noqa: ARG002 - nothing is looked at
        raise Unauthenticated("who are you?", error=None)


async def test_a_server_that_asks_who_calls_says_so_on_its_page(open_http: OpenHttp) -> None:
    async with open_http(authentication=Authentication(Locked())) as http:  # pyright: ignore[reportArgumentType] - it never returns
        answer = await http.get("/", headers=BROWSER)

    assert answer.status_code == 200
    assert "Authorization: Bearer" in answer.text


def test_nothing_that_is_put_into_the_page_becomes_markup() -> None:
    page = front_page('http://"><script>alert(1)</script>/mcp', "<b>& co</b>", asks_for_token=False)

    assert "<script" not in page
    assert "<b>" not in page


async def test_the_page_is_counted_as_itself(http: HttpClient) -> None:
    await http.get("/", headers=BROWSER)

    figures = (await http.get("/metrics")).text

    assert 'mcp_binance_http_answers_total{route="/",status="200"} 1.0' in figures


@pytest.fixture
async def shown(open_http: OpenHttp) -> AsyncGenerator[HttpClient]:
    async with open_http(greeting=GREETING, shows_market=True) as http:
        yield http


@pytest.mark.slow
async def test_the_demos_page_shows_prices_that_move_and_a_chart_of_ours(shown: HttpClient, clock: FakeClock) -> None:
    page = await shown.get("/", headers=BROWSER)
    first = (await shown.get("/demo/prices")).json()
    clock.advance(3_600_000)
    later = (await shown.get("/demo/prices")).json()
    charts = [await shown.get(f"/demo/chart-{theme}.png") for theme in ("light", "dark")]

    assert [each["symbol"] for each in first][:2] == ["BTCUSDT", "ETHUSDT"]
    assert first[0]["price"] in page.text
    assert [each["price"] for each in first] != [each["price"] for each in later]
    assert all(re.fullmatch(r"\$[\d,]+\.\d{2,}", each["price"]) for each in later)
    assert all(each["way"] == ("fall" if each["change"].startswith("-") else "rise") for each in later)
    assert {each.headers["content-type"] for each in charts} == {"image/png"}
    assert all(each.content.startswith(b"\x89PNG") for each in charts)
    assert charts[0].content != charts[1].content


async def test_only_the_script_of_the_demos_page_may_run_and_it_asks_nobody_else(shown: HttpClient) -> None:
    answer = await shown.get("/", headers=BROWSER)

    policy = answer.headers["content-security-policy"]
    (script,) = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    assert f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"javascript:|\son\w+=|\sstyle=", answer.text)
    assert not re.search(r'(?:href|src|srcset)="(?!/|data:,)', answer.text), "nothing is fetched from elsewhere"
    assert set(re.findall(r'fetch\("([^"]*)"', script)) == {"/demo/prices"}


@pytest.mark.slow
async def test_looking_costs_little_however_often_one_looks(shown: HttpClient, exchange: SimulatedExchange) -> None:
    await shown.get("/demo/prices")
    await shown.get("/demo/chart-dark.png")
    before = len(exchange.requests)

    for _ in range(20):
        await shown.get("/", headers=BROWSER)
        await shown.get("/demo/prices")
        await shown.get("/demo/chart-dark.png")

    assert len(exchange.requests) == before


async def test_a_page_without_a_market_is_still_a_page(shown: HttpClient, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", status=503, times=None))

    page = await shown.get("/", headers=BROWSER)
    prices = await shown.get("/demo/prices")

    assert page.status_code == 200
    assert "claude mcp add" in page.text
    assert "<script" not in page.text
    assert prices.json() == []


@pytest.mark.parametrize("path", ["/demo/prices", "/demo/chart-light.png"])
async def test_what_the_demo_shows_is_only_read_and_only_there(path: str, shown: HttpClient, http: HttpClient) -> None:
    assert (await shown.post(path)).status_code == 405
    assert (await http.get(path)).status_code == 404
    assert (await shown.get(path, headers={"host": "rebound.example"})).status_code == 421
