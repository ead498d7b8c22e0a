"""The images that chart-img.com draws in a day are everybody's: one who draws all it can leaves some to others."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.settings import Settings, read_settings
from support.charts import with_a_key
from support.clock import FakeClock
from support.holders import Holders
from support.webapp import HttpClient, OpenHttp

A_DAY = 20
# The tests begin just after midnight: of a tenth of the day's images nearly everything is kept for newcomers.
KEPT = 1
HEIGHTS = count(300, 2)


@pytest.fixture
def settings(exchange: SimulatedExchange) -> Settings:
    paced = {"CHART_IMG_DAILY_LIMIT": str(A_DAY), "CHART_IMG_RPS": "1000"}
    return read_settings({**with_a_key(exchange, "PRO"), **paced})


async def draw(http: HttpClient, **headers: str) -> dict[str, Any]:
    """Ask for a picture that nobody has asked for yet."""
    config = {"symbol": "NASDAQ:AAPL", "interval": "1D", "width": 400, "height": next(HEIGHTS)}
    asked = {"name": "generate_chart_image", "arguments": {"config": config, "includeData": True}}
    answer = await http.modern("tools/call", asked, **headers)
    told: dict[str, Any] = answer.json()["result"]["structuredContent"]
    return told


@pytest.mark.slow
async def test_one_who_draws_all_it_can_leaves_the_others_some_of_the_day(
    open_http: OpenHttp, clock: FakeClock, tmp_path: Path
) -> None:
    holders = Holders(tmp_path / "tokens", "mallory", "bob")
    async with open_http(authentication=holders.authentication(clock)) as http:
        drawn = 0
        while (told := await draw(http, **holders.bearer("mallory")))["success"]:
            drawn += 1
        bob = await draw(http, **holders.bearer("bob"))

    assert drawn == A_DAY - KEPT
    assert (told["error_type"], told["own_images"], told["images_share"]) == ("chart_limit_reached", drawn, A_DAY // 2)
    assert bob["success"]
    assert bob["apiResponse"]["rateLimitRemaining"] is not None
