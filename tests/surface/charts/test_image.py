"""generate_chart_image as a client calls it: the contract's shapes and sample, who drew, and where a kept image is."""

import json
from base64 import b64decode, b64encode
from dataclasses import replace
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError, types

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.charts.chartimg.client import ImageFile, read_image
from mcp_binance_server.charts.pictures import Pictures
from mcp_binance_server.charts.render import chart as apart
from mcp_binance_server.services.charts.remote import RemoteCharts
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.state.fair_turns import FairTurns
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.server import build_server
from mcp_binance_server.surface.tools.charts.image import GENERATE_CHART_IMAGE, GenerateChartImage
from support.charts import ENVIRONMENT, answer_of, fitting, paths, with_a_key
from support.clock import FakeClock
from support.contracts import read_contract
from support.desk import NETWORK, Loop
from support.fixtures import CONTRACT_DOCUMENTS, needs
from support.requirement import requirement
from support.served import Place

TOOL = "generate_chart_image"
HOUR_MS = 60 * 60 * 1000
CHART = {"symbol": "BINANCE:BTCUSDT", "interval": "1h"}
SMALL = {**CHART, "range": "2D", "width": 400, "height": 300}
NO_KEY = "Drawn by this server: no CHART_IMG_API_KEY is set."


@pytest.fixture
def settings(exchange: SimulatedExchange) -> Settings:
    return read_settings(with_a_key(exchange, "PRO"))


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange, era: str) -> Place:
    return Place(clock, exchange, era)


def _keyless(app: App) -> RemoteCharts:
    remote = app.context.charting.remote
    return replace(remote, client=replace(remote.client, caller=replace(remote.client.caller, key=None)))


async def generate(client: Client, config: object, **arguments: object) -> types.CallToolResult:
    return await fitting(client, TOOL, {"config": config, **arguments})


def picture(result: types.CallToolResult) -> tuple[bytes, ImageFile]:
    """Return the image among the contents, which must be what it says."""
    (block,) = (each for each in result.content if isinstance(each, types.ImageContent))
    data = b64decode(block.data, validate=True)
    image = read_image(data)
    assert image is not None
    assert block.mime_type == f"image/{image.format}"
    return data, image


@needs(CONTRACT_DOCUMENTS)
@pytest.mark.flood
@requirement(
    "charts/generate_chart_image",
    "charts/generate_chart_image/stored",
    "charts/generate_chart_image/response",
)
async def test_the_sample_is_answered_as_the_contract_shows(client: Client, exchange: SimulatedExchange) -> None:
    section = read_contract("chart tools").split("## Tool 6:")[1].split("## Tool Interaction")[0]
    request, response = (json.loads(part.split("```")[0]) for part in section.split("```json")[1:3])

    answer = answer_of(await generate(client, **request["input"]))

    assert set(answer) == set(response)
    assert set(answer["metadata"]) == {*response["metadata"], "renderer", "warnings"}
    assert {key: answer["metadata"][key] for key in ("format", "resolution")} == {
        key: response["metadata"][key] for key in ("format", "resolution")
    }
    assert answer["apiResponse"] == {"statusCode": 200, "rateLimitRemaining": 499}
    assert answer["imageUrl"].startswith("http://charts.test/r2/")
    assert answer["metadata"]["generatedAt"] == "2026-07-21T00:02:03.456Z"
    assert answer["metadata"]["expiresAt"] == "2026-08-20T00:02:03.000Z"
    assert answer["metadata"]["renderer"] == "chart-img"
    (body,) = exchange.charts.bodies
    assert body["studies"] == [{"name": "Bollinger Bands"}]


@requirement("charts/generate_chart_image/input", "charts/generate_chart_image/output")
def test_the_schemas_are_the_contract_s() -> None:
    spec = CATALOGUE.tool(TOOL)
    assert spec is not None
    asked = spec.wire.input_schema

    assert set(asked["properties"]) == {"config", "chart", "storage", "format", "includeData"}
    assert "required" not in asked  # config, or chart: clients that reserve the name config
    assert asked["properties"]["storage"]["type"] == "boolean"
    assert asked["properties"]["format"]["enum"] == ["png", "jpeg"]
    assert asked["properties"]["includeData"] == {
        "type": "boolean",
        "default": False,
        "description": "Also imageData (base64), for programs",
        "nullable": True,  # no part of the contract: a client that ignores defaults needs it
    }
    assert spec.wire.output_schema is None
    assert spec.read_only


@requirement("charts/generate_chart_image/metadata", "ruling/37")
@pytest.mark.parametrize("image_format", ["png", "jpeg"])
async def test_a_picture_is_sent_once_for_the_eye_and_never_as_structure_or_words(
    client: Client, exchange: SimulatedExchange, image_format: str
) -> None:
    result = await generate(client, {**CHART, "width": 800, "height": 450}, format=image_format)

    data, image = picture(result)
    text, _image = result.content
    assert isinstance(text, types.TextContent)
    answer = answer_of(result)
    assert "structuredContent" not in result.model_dump(by_alias=True, mode="json", exclude_none=True)
    assert result.model_dump_json().count(b64encode(data).decode()) == 1
    assert set(answer) == {"success", "metadata", "apiResponse"}
    assert (image.format, image.width, image.height) == (image_format, 800, 450)
    assert (answer["metadata"]["format"], answer["metadata"]["resolution"]) == (image_format.upper(), "800x450")
    assert exchange.charts.bodies[0]["format"] == image_format


@requirement("charts/generate_chart_image/inline", "charts/generate_chart_image/output", "ruling/37")
async def test_a_program_that_asks_for_the_data_gets_the_contract_s_structure(client: Client) -> None:
    result = await generate(client, {**CHART, "width": 800, "height": 450}, includeData=True)

    data, _ = picture(result)
    text = result.content[0]
    assert isinstance(text, types.TextContent)
    assert set(result.structured_content) == {"success", "imageData", "metadata", "apiResponse"}
    assert b64decode(result.structured_content["imageData"], validate=True) == data
    assert json.loads(text.text.splitlines()[-1]) == {
        name: value for name, value in result.structured_content.items() if name != "imageData"
    }


async def test_a_picture_that_the_service_keeps_is_linked(client: Client) -> None:
    result = await generate(client, SMALL, storage=True)

    text, link = result.content
    assert isinstance(text, types.TextContent)
    assert isinstance(link, types.ResourceLink)
    assert (link.uri, link.mime_type) == (answer_of(result)["imageUrl"], "image/png")
    assert result.structured_content is None


@requirement("ruling/08")
async def test_a_chart_that_failed_says_so_in_structure_text_and_flag(client: Client) -> None:
    result = await generate(client, {**CHART, "interval": "7h"})

    (text,) = result.content
    assert isinstance(text, types.TextContent)
    assert result.is_error is True
    assert (result.structured_content["success"], result.structured_content["error"]) == (
        False,
        "Invalid configuration",
    )
    assert text.text.startswith("Invalid configuration")


@requirement("ruling/38")
async def test_without_a_key_a_binance_pair_is_drawn_here_and_the_answer_says_so(
    place: Place, exchange: SimulatedExchange
) -> None:
    config = {**SMALL, "theme": "dark", "studies": [{"name": "BollingerBands@tv-basicstudies"}, {"name": "RSI"}]}

    async with place.served(ENVIRONMENT) as client:
        result = await generate(client, config)

    _, image = picture(result)
    answer = answer_of(result)
    assert (image.format, image.width, image.height) == ("png", 400, 300)
    assert answer["metadata"] == {
        "format": "PNG",
        "resolution": "400x300",
        "generatedAt": "2026-07-21T00:02:03.456Z",
        "renderer": "local",
        "bars": 49,
        "lastBarClosed": False,
        "warnings": [],
    }
    assert answer["notes"] == [NO_KEY]
    assert answer["apiResponse"] == {"statusCode": 0}
    assert not [path for path in paths(exchange) if not path.startswith("/api/v3/")]


@pytest.mark.slow
async def test_a_long_warm_up_beyond_one_request_is_loaded_in_two_and_nothing_is_unsettled(
    place: Place, exchange: SimulatedExchange
) -> None:
    config = {**SMALL, "width": 1000, "range": "20D", "studies": [{"name": "EMA", "inputs": {"length": 200}}]}

    async with place.served(ENVIRONMENT) as client:
        result = await generate(client, config)

    asked = [request.params for request in exchange.requests if request.path.endswith("/klines")]
    assert [int(params["limit"]) for params in asked] == [1000, 1000]
    metadata = answer_of(result)["metadata"]
    assert (metadata["bars"], metadata["warnings"]) == (481, [])


async def test_a_range_of_the_past_ends_where_it_was_asked_to(place: Place, exchange: SimulatedExchange) -> None:
    config = {**SMALL, "range": {"from": "2026-07-01T00:00:00Z", "to": "2026-07-03T00:00:00Z"}}

    async with place.served(ENVIRONMENT) as client:
        answer = answer_of(await generate(client, config))

    (params,) = (request.params for request in exchange.requests if request.path.endswith("/klines"))
    assert (params["limit"], params["endTime"]) == ("48", "1783036799999")
    assert (answer["metadata"]["bars"], answer["metadata"]["lastBarClosed"]) == (48, True)


async def test_a_range_before_the_first_candle_is_an_error_of_the_range(place: Place) -> None:
    config = {**SMALL, "range": {"from": "1970-01-05T00:00:00Z", "to": "1970-01-07T00:00:00Z"}}

    async with place.served(ENVIRONMENT) as client:
        answer = answer_of(await generate(client, config))

    assert answer["error"] == "Invalid configuration"
    assert answer["details"] == [{"field": "range", "message": "there are no candles in this range"}]


@requirement("charts/generate_chart_image/stored")
async def test_a_picture_kept_here_can_be_read_for_an_hour(place: Place, clock: FakeClock) -> None:
    async with place.served(ENVIRONMENT) as client:
        data, _ = picture(await generate(client, SMALL))
        result = await generate(client, SMALL, storage=True)
        answer = answer_of(result)
        links = [each for each in result.content if isinstance(each, types.ResourceLink)]
        (png,) = (await client.read_resource(answer["imageUrl"])).contents
        (svg,) = (await client.read_resource(links[1].uri)).contents
        listed = [each.uri for each in (await client.list_resources()).resources]
        clock.advance(HOUR_MS)
        with pytest.raises(MCPError) as gone:
            await client.read_resource(answer["imageUrl"])

    assert not any(isinstance(each, types.ImageContent) for each in result.content)
    assert isinstance(png, types.BlobResourceContents)
    assert isinstance(svg, types.TextResourceContents)
    assert (b64decode(png.blob), png.mime_type) == (data, "image/png")
    assert (svg.text[:4], svg.mime_type) == ("<svg", "image/svg+xml")
    assert [(each.uri, each.mime_type) for each in links] == [
        (answer["imageUrl"], "image/png"),
        (svg.uri, "image/svg+xml"),
    ]
    assert answer["imageUrl"].startswith("chart://")
    assert "imageData" not in answer
    assert answer["metadata"]["expiresAt"] == "2026-07-21T01:02:03.456Z"
    assert [each.partition(":")[0] for each in answer["metadata"]["warnings"]] == [
        "kept_here",
    ]
    assert not [uri for uri in listed if uri.startswith("chart:")]
    assert gone.value.code == -32404
    assert gone.value.data["error_type"] == "picture_gone"


LINKS = {"MCP_BINANCE_CHART_IMAGES": "link"}


@pytest.mark.parametrize("has_key", [False, True])
async def test_a_client_that_wants_links_gets_no_picture_but_its_address_and_words(
    place: Place, exchange: SimulatedExchange, *, has_key: bool
) -> None:
    async with place.served({**(with_a_key(exchange, "PRO") if has_key else ENVIRONMENT), **LINKS}) as client:
        result = await generate(client, SMALL)

    (text,) = result.content
    assert isinstance(text, types.TextContent)
    assert text.text.startswith("B")  # the legend comes first
    assert len(result.model_dump_json()) < 2_000
    assert answer_of(result)["imageUrl"].startswith("http://charts.test/r2/" if has_key else "chart://")


async def test_a_program_that_wants_links_still_gets_the_data_that_it_asks_for(place: Place) -> None:
    async with place.served({**ENVIRONMENT, **LINKS}) as client:
        result = await generate(client, SMALL, includeData=True)

    data, _ = picture(result)
    assert b64decode(result.structured_content["imageData"], validate=True) == data


async def test_a_client_that_wants_links_gets_no_picture_that_could_not_be_kept(app: App, era: str) -> None:
    pictures = Pictures(app.engine, most_bytes=1_000)
    charting = replace(app.context.charting, remote=_keyless(app), pictures=pictures, sends_links=True)
    dispatcher = Dispatcher(CATALOGUE, replace(app.context, charting=charting), app.dispatcher.owner)

    async with Client(build_server(dispatcher), mode=era, cache=None) as client:
        result = await generate(client, SMALL)

    assert [type(each) for each in result.content] == [types.TextContent]
    assert any(each.startswith("not_kept: ") for each in answer_of(result)["metadata"]["warnings"])


@pytest.mark.parametrize("uri", ["chart://0123456789abcdef.png", "chart://", "chart://../x", "binance://charts/x.png"])
async def test_an_address_of_no_picture_is_not_found(client: Client, uri: str) -> None:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)

    assert caught.value.code == -32404


async def test_a_server_without_charts_reads_no_pictures(place: Place) -> None:
    async with place.served({"MCP_BINANCE_TOOLSETS": "market"}) as client:
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource("chart://0123456789abcdef.png")


@requirement("charts/recover-invalid-config")
async def test_a_wrong_config_is_an_error_that_the_validator_explains(
    client: Client, exchange: SimulatedExchange
) -> None:
    wrong: dict[str, object] = {**CHART, "interval": "7h", "indicators": []}

    answer = answer_of(await generate(client, wrong))
    judged = (await client.call_tool("validate_chart_config", {"config": wrong})).structured_content

    assert (answer["success"], answer["error"], answer["code"]) == (False, "Invalid configuration", -32602)
    fields = {each["field"] for each in answer["details"]}
    assert fields == {"interval", "indicators"}
    assert fields <= {each["field"] for each in judged["errors"]}
    assert "validate_chart_config" in answer["recovery_suggestion"]
    assert exchange.charts.bodies == []


@pytest.mark.parametrize("text", ["half a pair \ud800", "x" * 501])
async def test_a_text_that_nobody_can_draw_is_an_error_of_its_field(place: Place, text: str) -> None:
    label = {"type": "text", "coordinates": {"time": "2026-07-20", "price": 60_000, "text": text}}

    async with place.served(ENVIRONMENT) as client:
        answer = answer_of(await generate(client, {**SMALL, "drawings": [label]}))

    assert [each["field"] for each in answer["details"]] == ["drawings[0].coordinates.text"]


async def test_a_text_with_markup_is_a_text(place: Place) -> None:
    label = {
        "type": "text",
        "coordinates": {"time": "2026-07-20", "price": 60_000, "text": "</svg><script>&\x00\u202e"},
    }

    async with place.served(ENVIRONMENT) as client:
        result = await generate(client, {**SMALL, "drawings": [label]}, storage=True)
        (_, link) = (each for each in result.content if isinstance(each, types.ResourceLink))
        (svg,) = (await client.read_resource(link.uri)).contents

    assert isinstance(svg, types.TextResourceContents)
    assert "<script" not in svg.text
    assert answer_of(result)["metadata"]["resolution"] == "400x300"


async def test_a_renderer_that_takes_too_long_is_told_as_such(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LONGEST_SECONDS", 0)

    async with place.served(ENVIRONMENT) as client:
        answer = answer_of(await generate(client, SMALL))

    assert (answer["error_type"], answer["retryable"]) == ("chart_not_drawn", True)
    assert answer["error"] == "The chart could not be drawn locally: the renderer took too long."


async def test_whoever_would_wait_too_long_for_a_turn_is_told_so(app: App, era: str) -> None:
    local = replace(app.context.charting.local, turns=FairTurns(app.clock, at_a_time=0), longest_wait_secs=0.01)
    charting = replace(app.context.charting, local=local, remote=_keyless(app))
    server = build_server(Dispatcher(CATALOGUE, replace(app.context, charting=charting)))

    async with Client(server, mode=era, cache=None) as client:
        answer = answer_of(await generate(client, SMALL))

    assert answer["error"] == "The chart could not be drawn locally: too many charts are waiting for their turn."


@pytest.mark.parametrize("arguments", [{}, {"config": "BTC"}, {"config": {}, "format": "svg"}, {"config": {}, "a": 1}])
async def test_arguments_outside_the_schema_are_refused(client: Client, arguments: dict[str, Any]) -> None:
    result = await client.call_tool(TOOL, arguments)

    assert result.is_error is True
    assert result.structured_content["code"] == -32602


class Held(Loop):
    """A chart service that answers when it is let go."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(exchange)
        self.go = anyio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            await self.go.wait()
        return await super().handle_async_request(request)


@pytest.mark.slow
async def test_a_slow_image_is_reported_until_it_is_there(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    transport = Held(exchange)
    reported: list[tuple[float, float | None, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))
        transport.go.set()

    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=transport) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        result = await client.call_tool(TOOL, {"config": CHART}, progress_callback=heard)
        quick = len(reported)
        await client.call_tool(TOOL, {"config": {**CHART, "interval": "4h"}}, progress_callback=heard)

    assert result.is_error is False
    assert reported[0] == (1, None, "drawing the chart")
    assert len(reported) == quick


@pytest.mark.slow
@requirement("charts/pattern-exploration", "charts/pattern-documentation")
async def test_a_chart_can_be_found_by_looking_around(client: Client, exchange: SimulatedExchange) -> None:
    exchanges = (await client.call_tool("get_exchanges", {})).structured_content["exchanges"]
    assert "NASDAQ" in {each["id"] for each in exchanges}
    found = await client.call_tool("get_symbols", {"exchange": "NASDAQ", "search": "Apple"})
    symbol = found.structured_content["symbols"][0]["fullSymbol"]
    documented = await client.call_tool("fetch_chart_documentation", {"section": "indicators"})
    study = documented.structured_content["data"]["indicators"][0]["name"]
    words = {"naturalLanguage": "daily chart of the last year", "symbol": symbol}
    made = (await client.call_tool("construct_chart_config", words)).structured_content["config"]
    config = {**made, "studies": [{"name": study}]}
    judged = (await client.call_tool("validate_chart_config", {"config": config})).structured_content

    result = await generate(client, config)

    assert judged["valid"] is True
    assert answer_of(result)["metadata"]["renderer"] == "chart-img"
    assert exchange.charts.bodies[-1]["symbol"] == "NASDAQ:AAPL"


def test_a_chart_with_orders_needs_the_scope_of_the_account_for_that_call_alone() -> None:
    def scope(**more: object) -> str:
        return GENERATE_CHART_IMAGE.scope_of(GenerateChartImage.model_validate({"config": {**CHART, **more}}))

    assert scope(myOrders=True) == "account:read"
    assert scope() == scope(myOrders=False) == "market:read"
