"""A picture that cannot be kept comes with the answer, which says why it has no address."""

from dataclasses import replace

from mcp_binance_server.app import App
from mcp_binance_server.charts.pictures import Pictures

SMALL = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "range": "2D", "width": 400, "height": 300}


async def test_a_picture_larger_than_the_room_for_all_is_answered_without_an_address(app: App) -> None:
    charting = replace(app.context.charting, pictures=Pictures(app.engine, most_bytes=1_000))

    image = await charting.image(SMALL, storage=True)

    assert image.data is not None
    assert (image.url, image.svg_url, image.expires_at) == (None, None, None)
    assert "not_kept: the picture has no address: it is too large; ask for a smaller one" in image.warnings
