"""A server with a chart-img key, driven through every failure at the loudest log level: no piece of the key is said."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from support.process import Process

pytestmark = pytest.mark.flood

WINDOW = 9
STOCK = {"symbol": "NASDAQ:AAPL", "width": 400, "height": 300}
FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "status", "status": 401},
    {"kind": "status", "status": 403, "body": "<html>403</html>"},
    {"kind": "status", "status": 422},
    {"kind": "status", "status": 429, "headers": {"Retry-After": "61"}},
    {"kind": "status", "status": 500},
    {"kind": "html"},
    {"kind": "truncated"},
    {"kind": "gzip"},
    {"kind": "cut_before"},
    {"kind": "cut_within"},
)


@pytest.fixture
def simulated() -> Iterator[dict[str, str]]:
    with Process("simulator", warm=True) as process:
        yield json.loads(process.line())
        process.terminate()


def test_no_piece_of_the_chart_key_leaves_the_process(simulated: dict[str, str]) -> None:
    key = simulated["chart_img_key"]
    environment = {
        "BINANCE_REST_URL": simulated["rest"],
        "CHART_IMG_URL": simulated["chart_img"],
        "CHART_IMG_DOCS_URL": simulated["chart_docs"],
        "CHART_IMG_API_KEY": key,
    }
    said: list[str] = []

    with Process("--stdio", environment=environment, warm=True) as server:
        said.append(json.dumps(server.shake_hands()))
        for place, fault in enumerate(FAULTS, 1):
            echoing = fault if "body" in fault else {**fault, "body": json.dumps({"message": f"no such key {key}"})}
            for path in ("/v3/*", "/v2/*"):
                order = {**echoing, "path": path, "times": 4}
                httpx2.post(f"{simulated['control']}/faults", json=order).raise_for_status()
            for name, arguments in (
                ("get_symbols", {"exchange": f"PLACE{place}"}),
                ("generate_chart_image", {"config": {**STOCK, "interval": f"{place % 2 + 1}h"}}),
            ):
                said.append(
                    json.dumps(server.ask(f"{place} {name}", "tools/call", {"name": name, "arguments": arguments}))
                )
            httpx2.delete(f"{simulated['control']}/faults").raise_for_status()
        answered = server.ask("last", "tools/call", {"name": "get_exchanges", "arguments": {}})
        server.close_input()
        server.wait()

    errors = server.errors.read_text(errors="replace")
    pieces = {key[at : at + WINDOW] for at in range(len(key) - WINDOW + 1)}
    assert not [piece for piece in pieces if piece in json.dumps(said) or piece in errors]
    assert all('"isError": true' in text for text in said[1:])
    assert "DEBUG" in errors
    # A told wait of more than a minute ends all asking; the bundled list answers meanwhile.
    assert answered["result"]["structuredContent"]["success"] is True
