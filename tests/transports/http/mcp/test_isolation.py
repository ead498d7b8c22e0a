"""Five principals on one server: whatever they do, in whatever order, no byte of one reaches another."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Order, Portfolio
from mcp_binance_server.app import running_app
from mcp_binance_server.domain.access import SCOPES, Visitor
from mcp_binance_server.settings import read_settings
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import Assembled
from mcp_binance_server.transports.http.auth.authenticator import Headers, Unauthenticated
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.requirement import requirement
from support.webapp import ENVELOPE, MODERN, BareAnswer, assembled, bare, initialize, request

PEOPLE = 5
MARK = "77{number}31{number}.{number}4159265"
ASKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("resources/read", {"uri": "binance://account/balances"}),
    ("resources/read", {"uri": "binance://orders/open"}),
    ("resources/read", {"uri": "binance://account/positions"}),
    ("resources/read", {"uri": "binance://market/btcusdt"}),
    ("tools/call", {"name": "get_account_info", "arguments": {}}),
    ("tools/call", {"name": "get_open_orders", "arguments": {}}),
    ("prompts/get", {"name": "portfolio_risk", "arguments": {}}),
    ("prompts/get", {"name": "trading_analysis", "arguments": {"symbol": "BTCUSDT"}}),
)
OWN_CHART = len(ASKS)
CONFIG = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "range": "2D", "width": 400, "height": 300, "myOrders": True}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    *ASKS,
    ("tools/call", {"name": "generate_chart_image", "arguments": {"config": CONFIG, "storage": True}}),
)
step = st.tuples(
    st.sampled_from(("open", "open pair", "ask", "ask modern", "steal", "leave", "ask together")),
    st.integers(0, PEOPLE - 1),
    st.integers(0, PEOPLE - 1),
    st.integers(0, len(ASKS) - 1),
)


class Names:
    """Lets in whoever says their name: what is tested is what happens behind that."""

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:  # noqa: ARG002 - only a header is looked at
        name = next((value for key, value in headers if key == b"authorization"), None)
        if name is None:
            raise Unauthenticated("who are you?", error=None)
        return Visitor(name.decode(), SCOPES)


def mark(number: int) -> str:
    return MARK.format(number=number)


def guest(number: int) -> Guest:
    order = Order(
        symbol="BTCUSDT", order_id=int(f"9{number}") * 10**7, client_order_id=f"watermark{number}", side="BUY",
        price="1000.00", quantity=mark(number), executed="0.00000000", executed_value="0.00000000", status="NEW",
        placed_ms=1, updated_ms=1,
    )  # fmt: skip
    return Guest(DemoAccount(1_000 + number), Portfolio((Balance("USDT", mark(number), "0.0"),), (order,)))


class Crowd:
    """Principals, the sessions each of them opened, and every answer held against the watermarks of the others."""

    def __init__(self, http: Assembled, guests: list[Guest]) -> None:
        self.http = http
        self.guests = guests
        self.sessions: dict[int, list[str]] = {number: [] for number in range(PEOPLE)}
        self.own_seen = 0

    async def act(self, what: str, who: int, whose: int, number: int) -> None:
        match what:
            case "open":
                answer = await bare(self.http, "POST", "/mcp", initialize(), **self._keys(who), **_named(who))
                self._opened(who, answer)
            case "open pair":
                answer = await bare(self.http, "POST", "/mcp/sse", **self._keys(who), **_named(who))
                self._opened(who, answer)
            case "ask" if self.sessions[who]:
                self._check(who, await self._ask(who, self.sessions[who][-1], number))
            case "ask modern":
                self._check(who, await self.ask_modern(who, number))
            case "steal" if self.sessions[whose] and who != whose:
                stolen = await self._ask(who, self.sessions[whose][-1], number)
                unknown = await self._ask(who, "7e57ab1e-0000-4000-8000-000000000000", number)
                assert stolen == unknown
                assert stolen.status == 404
            case "leave" if self.sessions[who]:
                await bare(self.http, "DELETE", "/mcp", mcp_session_id=self.sessions[who].pop(), **_named(who))
            case "ask together":
                async with anyio.create_task_group() as group:
                    for each in range(PEOPLE):
                        group.start_soon(self._ask_and_check, each, number)
            case _:
                pass

    async def _ask_and_check(self, who: int, number: int) -> None:
        self._check(who, await self.ask_modern(who, number))

    async def _ask(self, who: int, session_id: str, number: int) -> BareAnswer:
        method, params = CALLS[number]
        return await bare(self.http, "POST", "/mcp", request(method, params), mcp_session_id=session_id, **_named(who))

    async def ask_modern(self, who: int, number: int) -> BareAnswer:
        method, params = CALLS[number]
        return await bare(
            self.http, "POST", "/mcp", request(method, {**params, "_meta": ENVELOPE}),
            mcp_protocol_version=MODERN, mcp_method=method, mcp_name=params.get("name") or params["uri"],
            accept="application/json, text/event-stream", **self._keys(who), **_named(who),
        )  # fmt: skip

    def _opened(self, who: int, answer: BareAnswer) -> None:
        assert answer.status == 200
        self.sessions[who].append(answer.headers["connection-id"])
        if len(self.sessions[who]) > 5:
            self.sessions[who].pop(0)

    def _check(self, who: int, answer: BareAnswer) -> None:
        text = json.dumps(json.loads(answer.body)).replace(",", "")
        assert answer.status == 200, text
        for other, each in enumerate(self.guests):
            seen = mark(other) in text or each.account.api_key in text or f"watermark{other}" in text
            assert not seen or other == who
            self.own_seen += seen

    def _keys(self, who: int) -> dict[str, str]:
        account = self.guests[who].account
        return {"x_binance_api_key": account.api_key, "x_binance_secret_key": account.secret_key}


def _named(who: int) -> dict[str, str]:
    return {"authorization": f"principal {who}"}


@contextmanager
def strangers(exchange: SimulatedExchange) -> Generator[list[Guest]]:
    guests = [guest(number) for number in range(PEOPLE)]
    exchange.guests += guests
    yield guests
    exchange.guests.clear()


@requirement("data-model/session-isolation", "ruling/29")
@pytest.mark.flood
@pytest.mark.timeout(300)
async def test_no_byte_of_one_principal_reaches_another(clock: FakeClock, exchange: SimulatedExchange) -> None:
    stories: list[list[tuple[str, int, int, int]]] = []

    @settings(max_examples=25, database=None)
    @given(st.lists(step, min_size=20, max_size=40))
    def tell(story: list[tuple[str, int, int, int]]) -> None:
        stories.append(story)

    tell()
    seen = 0
    with strangers(exchange) as guests:
        async with _own_app(clock, exchange) as app:
            for story in stories:
                async with assembled(
                    app, authentication=Authentication(Names()), shares_server_key=False, session_cap=1_000
                ) as running:
                    crowd = Crowd(running, guests)
                    for each in story:
                        await crowd.act(*each)
                    seen += crowd.own_seen
                clock.advance(60_000)

    assert seen > 100, "a test in which nobody sees their own marks proves nothing"


async def test_without_keys_of_their_own_strangers_see_no_account(
    clock: FakeClock, exchange: SimulatedExchange
) -> None:
    async with (
        _own_app(clock, exchange) as app,
        assembled(app, authentication=Authentication(Names()), shares_server_key=False) as running,
    ):
        opened = await bare(running, "POST", "/mcp/sse", authorization="somebody")
        read = await bare(
            running, "POST", "/mcp/message", request("resources/read", {"uri": "binance://account/balances"}),
            authorization="somebody", connection_id=opened.headers["connection-id"],
        )  # fmt: skip

    error = json.loads(read.body)["error"]
    assert error["code"] == -32002
    assert error["data"]["masked_api_key"] == "not set"


def _own_app(clock: FakeClock, exchange: SimulatedExchange) -> Any:  # noqa: ANN401 - a context manager
    own = {"BINANCE_API_KEY": exchange.account.api_key, "BINANCE_SECRET_KEY": exchange.account.secret_key}
    return running_app(read_settings(own), clock=clock, network=NETWORK, transport=Loop(exchange))


@requirement("data-model/session-isolation")
async def test_a_chart_with_orders_reaches_their_owner_alone_and_is_not_kept(
    clock: FakeClock, exchange: SimulatedExchange
) -> None:
    with strangers(exchange) as guests:
        async with (
            _own_app(clock, exchange) as app,
            assembled(
                app, authentication=Authentication(Names()), shares_server_key=False, session_cap=1_000
            ) as running,
        ):
            crowd = Crowd(running, guests)
            await crowd.act("ask together", 0, 0, OWN_CHART)
            answer = await crowd.ask_modern(0, OWN_CHART)

    assert crowd.own_seen == PEOPLE
    assert b"chart://" not in answer.body
    assert b"not_kept" in answer.body
