"""Spans that a collector gets: one a request, named after it, with nothing secret in them."""

import json
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from mcp_binance_server import __version__
from support.process import COMMAND, Process, clean_environment

pytestmark = pytest.mark.flood

CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("get_ticker", {"symbol": "BTCUSDT"}),
    ("get_account_info", {}),
    ("get_ticker", {}),
)


class Collector:
    """Takes OTLP over HTTP, as any collector does, and keeps what it got."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def listening(self) -> Generator["Collector"]:
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def services(self) -> set[tuple[str, str]]:
        return {
            (attribute.key, attribute.value.string_value)
            for request in self._requests()
            for each in request.resource_spans
            for attribute in each.resource.attributes
        }

    def spans(self) -> list[Span]:
        return [
            span
            for request in self._requests()
            for each in request.resource_spans
            for scope in each.scope_spans
            for span in scope.spans
        ]

    def _requests(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(body) for _, body in self.bodies]


@pytest.mark.night
def test_every_request_is_a_span_at_the_collector_and_holds_no_key() -> None:
    with Collector().listening() as collector, Process("simulator", warm=True) as simulator:
        exchange = json.loads(simulator.line())
        key, secret = exchange["api_key"], exchange["secret_key"]
        environment = {
            "BINANCE_REST_URL": exchange["rest"],
            "BINANCE_API_KEY": key,
            "BINANCE_SECRET_KEY": secret,
            "MCP_BINANCE_OTLP_URL": collector.url,
        }
        with Process("--stdio", environment=environment, warm=True) as server:
            server.shake_hands()
            for name, arguments in (
                ("get_ticker", {"symbol": "BTCUSDT"}),
                ("get_account_info", {}),
                ("get_ticker", {}),
            ):
                server.ask(f"{name} {arguments}", "tools/call", {"name": name, "arguments": arguments})
            server.close_input()
            server.wait()
        simulator.terminate()

    spans = collector.spans()
    assert {path for path, _ in collector.bodies} == {"/v1/traces"}
    assert [span.name for span in spans if span.name.startswith("tools/call")] == [
        "tools/call get_ticker",
        "tools/call get_account_info",
        "tools/call get_ticker",
    ]
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano > 0 for span in spans)
    assert {("service.name", "mcp-binance-server"), ("service.version", __version__)} <= collector.services()
    sent = b"".join(body for _, body in collector.bodies)
    assert key.encode() not in sent
    assert secret.encode() not in sent


@pytest.mark.night
def test_an_address_that_cannot_be_used_stops_the_start() -> None:
    environment = clean_environment({"MCP_BINANCE_OTLP_URL": "collector:4318"})

    done = subprocess.run([*COMMAND, "--stdio"], env=environment, input=b"", capture_output=True, check=False)

    assert done.returncode != 0
    assert b"MCP_BINANCE_OTLP_URL" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.night
def test_a_collector_that_is_away_changes_no_answer_and_holds_up_no_end() -> None:
    with Process("simulator", warm=True) as simulator:
        exchange = json.loads(simulator.line())
        environment = {"BINANCE_REST_URL": exchange["rest"], "MCP_BINANCE_OTLP_URL": "http://127.0.0.1:9"}
        with Process("--stdio", environment=environment, warm=True) as server:
            server.shake_hands()
            answer = server.ask(1, "tools/call", {"name": "get_ticker", "arguments": {"symbol": "BTCUSDT"}})
            server.close_input()
            server.wait()
        simulator.terminate()

    assert answer["result"]["structuredContent"]["symbol"] == "BTCUSDT"
