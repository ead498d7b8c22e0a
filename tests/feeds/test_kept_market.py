"""What a whole server has learned of a symbol is there after a restart, and nothing of it without a folder."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.past_keeper import EVERY_MS
from support.requirement import requirement
from support.stepped import STREAMED, LiveMarket, live_market, settled
from support.symbol_scores import BTC


@asynccontextmanager
async def watched(folder: str, network: Network = STREAMED) -> AsyncGenerator[tuple[LiveMarket, SymbolFeed]]:
    """Serve a market and read one symbol of it."""
    async with live_market(environment={"MCP_BINANCE_STATE_DIR": folder}, network=network) as market:
        live = market.app.context.live
        async with live.watching(BTC):
            assert live.hub is not None
            feed = live.hub.peek(BTC)
            assert feed is not None
            await settled()
            yield market, feed


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.night
@requirement("ruling/48")
async def test_a_restart_keeps_what_was_learned(tmp_path: Path) -> None:
    async with watched(str(tmp_path)) as (market, feed):
        assert len(feed.pasts.scores["hidden_size"]) == 0
        await market.run(125)  # a whole minute is in it
        assert len(feed.pasts.scores["hidden_size"]) == 1
        known = feed.pasts.series()

    async with watched(str(tmp_path)) as (_, feed):
        assert feed.pasts.series() == known

    (folder, file) = files(tmp_path)
    assert (folder, file.split("-")[0]) == ("pasts", "pasts/BTCUSDT")


async def test_a_process_that_is_killed_has_written_what_was_learned_five_minutes_ago(tmp_path: Path) -> None:
    async with watched(str(tmp_path)) as (market, feed):
        feed.pasts.scores["flood"].add(1.0)
        assert files(tmp_path) == []

        market.clock.advance(EVERY_MS)
        await settled()

        assert len(files(tmp_path)) == 2


@pytest.mark.parametrize(("folder", "network"), [("off", STREAMED), ("", replace(STREAMED, simulated=True))])
async def test_nothing_is_written_where_it_is_off_or_the_market_is_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, network: Network
) -> None:
    monkeypatch.chdir(tmp_path)
    async with watched(folder or str(tmp_path / "state"), network) as (market, feed):
        assert market.app.context.live.hub is not None
        assert market.app.context.live.hub.keeper is None
        feed.pasts.scores["flood"].add(1.0)

    assert files(tmp_path) == []
