"""Orders on paper met by a streamed market: placed by a broker, brought together by the feed."""

from pathlib import Path

import pytest

from mcp_binance_server.trading.broker import Fate
from trading.paper.trading_floor import BTC, nothing_sent, order, trading_floor

pytestmark = pytest.mark.anyio


async def test_an_order_that_is_placed_meets_the_streamed_book(tmp_path: Path) -> None:
    async with trading_floor(tmp_path) as floor, floor.feed().running() as feed:
        with floor.hub.reading(BTC):
            await floor.in_step()
            limit = floor.touch("SELL") + 50

            outcome = await floor.answered(floor.broker(feed).place(order("a", "BUY", limit), nothing_sent))

        assert outcome.fate is Fate.ACCEPTED
        assert outcome.order is not None
        assert outcome.order.status == "FILLED"
        assert outcome.order.average_price is not None
        assert limit - 100 < outcome.order.average_price <= limit
        assert floor.told == ["paper"]
