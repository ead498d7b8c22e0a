"""Pages of orders over HTTP: each visitor hears of their own orders, and of nobody else's."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from mcp_binance_server.domain.access import SCOPES, Scope
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, TokenFile, digest_of, new_token
from support.asking import User, holding
from support.paper import RESTING, PaperTrader, paper_trader
from support.provider import until
from support.updates import hearing, run_slowly
from support.webapp import ENVELOPE, MODERN, HttpClient, assembled, request, served

pytestmark = pytest.mark.timeout(90)

OPEN, JOURNAL, BTC = "binance://orders/open", "binance://orders/journal", "binance://market/btcusdt"
ALL: frozenset[Scope] = frozenset(SCOPES)


class Tokens:
    """A token file whose holders each trade on paper for themselves."""

    def __init__(self, path: Path, **scopes: frozenset[Scope]) -> None:
        self.file = path
        self._tokens = {name: new_token() for name in scopes}
        path.touch(mode=0o600)
        path.write_text(
            "".join(f"{TokenEntry(n, digest_of(self._tokens[n]), has).line}\n" for n, has in scopes.items())
        )

    def of(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self._tokens[name]}"}


@asynccontextmanager
async def hearing_as(url: str, token: dict[str, str], era: str) -> AsyncGenerator[list[str]]:
    async with create_mcp_http_client(headers=token) as http:
        transport: Any = streamable_http_client(f"{url}/mcp", http_client=http)
        async with hearing(transport, era, OPEN, JOURNAL) as heard:
            yield heard


@pytest.mark.slow
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_an_order_is_told_to_its_owner_and_to_no_other_visitor(era: str, tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens", ann=ALL, ben=ALL)
    async with paper_trader(tmp_path) as trader, AsyncExitStack() as stack:
        who = Authentication(TokenFile(tokens.file, trader.market.clock))
        http = await stack.enter_async_context(assembled(trader.market.app, authentication=who))
        url = await stack.enter_async_context(served(http))
        heard = {
            name: await stack.enter_async_context(hearing_as(url, tokens.of(name), era)) for name in ("ann", "ben")
        }
        for name, other in (("ann", "ben"), ("ben", "ann")):
            client = await stack.enter_async_context(holding(url, tokens.of(name), User()))
            await PaperTrader(trader.market, client).placed(**RESTING)
            await run_slowly(trader.market, 3)
            await until(lambda name=name: {*heard[name]} == {OPEN, JOURNAL})

            assert heard[other] == []
            await run_slowly(trader.market, 2)
            heard[name].clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("granted", "wished", "missing"),
    [
        ("market:read", [OPEN], "account:read"),
        ("account:read", [OPEN, JOURNAL], None),
        ("account:read", [OPEN, BTC], "market:read"),
        ("account:read", [], "market:read"),
    ],
)
async def test_a_stream_needs_the_scope_of_each_of_its_pages(
    granted: Scope, wished: list[str], missing: str | None, tmp_path: Path
) -> None:
    tokens = Tokens(tmp_path / "tokens", ann=frozenset({granted}))
    async with paper_trader(tmp_path) as trader:
        who = Authentication(TokenFile(tokens.file, trader.market.clock))
        async with (
            assembled(trader.market.app, authentication=who) as http,
            served(http) as url,
            HttpClient(base_url=url) as client,
        ):
            status, challenge = await listened(client, tokens.of("ann"), wished)

    assert status == (200 if missing is None else 403)
    assert missing is None or missing in challenge


async def listened(client: HttpClient, token: dict[str, str], wished: list[str]) -> tuple[int, str]:
    """Ask for a stream and leave it; return how it began."""
    named = {"mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen", **token}
    asked = request("subscriptions/listen", {"notifications": {"resourceSubscriptions": wished}, "_meta": ENVELOPE})
    accepts = {"accept": "application/json, text/event-stream"}
    async with client.stream("POST", "/mcp", headers={**accepts, **named}, json=asked) as answer:
        return answer.status_code, answer.headers.get("www-authenticate", "")
