"""PNG and JPEG by whoever draws: judged by the bytes, which another library must be able to open."""

from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from io import BytesIO
from typing import Any, Protocol

import pytest
from mcp import Client, types
from PIL import Image

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.server import build_server
from support.charts import ENVIRONMENT, answer_of, with_a_key
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.requirement import requirement

TOOL = "generate_chart_image"
SMALL = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "range": "2D", "width": 500, "height": 300}
MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}


class Serve(Protocol):
    async def __call__(self, *, key: bool, pillow: bool = True) -> Client: ...


@pytest.fixture
async def serve(clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[Serve]:
    """Return what serves with or without a key of the service, and with or without Pillow."""
    async with AsyncExitStack() as stack:

        async def served(*, key: bool, pillow: bool = True) -> Client:
            settings = read_settings(with_a_key(exchange, "PRO") if key else ENVIRONMENT)
            opened = running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange))
            app = await stack.enter_async_context(opened)
            server = app.server if pillow else build_server(without_pillow(app))
            return await stack.enter_async_context(Client(server, cache=None))

        yield served


def without_pillow(app: App) -> Any:  # noqa: ANN401 - a dispatcher
    context = replace(
        app.context,
        charting=replace(app.context.charting, jpeg=None),
        chart_validation=replace(app.context.chart_validation, draws_jpeg=False),
    )
    return replace(app.dispatcher, context=context)


def checked(data: bytes, kind: str, *, colours: int) -> None:
    """Make sure that a file is of its kind, whole, of the size asked for, and shows so many colours."""
    assert data.startswith(MAGIC[kind])
    with Image.open(BytesIO(data)) as picture:
        picture.load()
        assert (picture.format, picture.size) == (kind.upper(), (500, 300))
        assert len(picture.convert("RGB").getcolors(1 << 20) or ()) >= colours


@requirement("charts/generate_chart_image/formats")
@pytest.mark.parametrize("key", [False, True], ids=["local", "chart-img"])
@pytest.mark.parametrize("kind", ["png", "jpeg"])
@pytest.mark.parametrize("said_in", ["argument", "config"])
async def test_the_bytes_are_of_the_format_and_size_that_were_asked_for(
    serve: Serve, kind: str, said_in: str, *, key: bool
) -> None:
    client = await serve(key=key)
    asked = {"config": {**SMALL, "format": kind}} if said_in == "config" else {"config": SMALL, "format": kind}

    result = await client.call_tool(TOOL, asked)

    (block,) = (each for each in result.content if isinstance(each, types.ImageContent))
    metadata = answer_of(result)["metadata"]
    # A JPEG of the simulated service is an even grey.
    checked(b64decode(block.data), kind, colours=1 if key else 20)
    assert (block.mime_type, metadata["format"], metadata["resolution"]) == (f"image/{kind}", kind.upper(), "500x300")
    assert metadata["renderer"] == ("chart-img" if key else "local")


@pytest.mark.night
@requirement("charts/generate_chart_image/formats")
@pytest.mark.parametrize("kind", ["png", "jpeg"])
async def test_a_kept_picture_is_read_in_its_format(serve: Serve, kind: str) -> None:
    client = await serve(key=False)

    result = await client.call_tool(TOOL, {"config": SMALL, "format": kind, "storage": True})
    address = answer_of(result)["imageUrl"]
    (kept,) = (await client.read_resource(address)).contents

    assert isinstance(kept, types.BlobResourceContents)
    assert address.endswith(f".{kind}")
    assert kept.mime_type == f"image/{kind}"
    checked(b64decode(kept.blob), kind, colours=20)


async def test_without_pillow_a_jpeg_is_refused_before_it_is_drawn(serve: Serve, exchange: SimulatedExchange) -> None:
    client = await serve(key=False, pillow=False)
    config = {**SMALL, "format": "jpeg"}

    refused = answer_of(await client.call_tool(TOOL, {"config": config}))
    judged = (await client.call_tool("validate_chart_config", {"config": config})).structured_content
    asked = [request.path for request in exchange.requests]
    drawn = answer_of(await client.call_tool(TOOL, {"config": config, "format": "png"}))

    (problem,) = refused["details"]
    assert (refused["success"], problem["field"], asked) == (False, "format", [])
    assert "pip install 'mcp-binance-server[jpeg]'" in problem["message"]
    assert (judged["valid"], judged["errors"][0]["message"]) == (False, problem["message"])
    assert "Set format to png" in judged["suggestions"]
    assert drawn["metadata"]["format"] == "PNG"


async def test_without_pillow_a_jpeg_that_the_service_fails_to_draw_is_its_failure(
    serve: Serve, exchange: SimulatedExchange
) -> None:
    client = await serve(key=True, pillow=False)
    exchange.faults.add(Fault(kind="status", path="/v2/*", status=401, times=None))

    refused = answer_of(await client.call_tool(TOOL, {"config": SMALL, "format": "jpeg"}))

    assert refused["error_type"] == "chart_key_refused"
    assert not [request for request in exchange.requests if request.path.endswith("/klines")]
