"""Spans are made where somebody collects them, and nothing else of the SDK's is left out with them."""

import pytest
from mcp.server.lowlevel import Server
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from mcp_binance_server.app import App
from mcp_binance_server.surface.server import build_server

SPANS = "OpenTelemetryMiddleware"


def around(server: Server[object]) -> list[str]:
    return [type(each).__name__ for each in server.middleware]


def test_what_the_sdk_does_around_each_message_is_a_span_and_nothing_else() -> None:
    assert around(Server("bare")) == [SPANS]


async def test_a_span_is_made_only_where_it_goes_somewhere(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = build_server(app.dispatcher)
    monkeypatch.setattr(trace, "get_tracer_provider", TracerProvider)
    collected = build_server(app.dispatcher)

    assert SPANS not in around(alone)
    assert around(collected)[0] == SPANS
