"""The official suite against the product itself, on the simulated exchange: whatever needs no fixture passes."""

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from conformance.suite import UNMEASURED, Scenario, Suite, installed, said
from support.process import Process
from support.product import announced

pytestmark = pytest.mark.flood

# What the suite asks of any server, whatever its tools, resources and prompts are called.
OF_ANY_SERVER = {
    "2025-11-25": {
        "server-initialize", "server-session-lifecycle", "ping", "completion-complete", "tools-list",
        "server-sse-multiple-streams", "resources-list", "prompts-list", "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless", "completion-complete", "tools-list", "server-sse-multiple-streams", "resources-list",
        "sep-2164-resource-not-found", "prompts-list", "dns-rebinding-protection", "caching", "http-header-validation",
        "input-required-result-unsupported-methods",
    },
}  # fmt: skip
# How the suite begins to speak of what it looked for in a tool that only a fixture has.
UNTESTABLE = "Not testable: "
# Skipped where a server has no streams of changes; this one has.
OF_STREAMS = {
    "sep-2575-server-sends-subscription-ack", "sep-2575-server-tags-subscription-id",
    "sep-2575-server-honors-notification-filter",
}  # fmt: skip


@pytest.fixture(scope="module")
def suite() -> Suite:
    return installed()


@pytest.fixture(scope="module")
def address(suite: Suite) -> Iterator[str]:  # noqa: ARG001 - without a suite nothing needs to be served
    with Process("simulator", environment=UNMEASURED, warm=True) as simulator:
        exchange = json.loads(simulator.line())
        environment = {
            **UNMEASURED,
            "BINANCE_API_KEY": exchange["api_key"],
            "BINANCE_SECRET_KEY": exchange["secret_key"],
            "BINANCE_REST_URL": exchange["rest"],
            "BINANCE_STREAM_URL": exchange["streams"],
        }
        with Process("--http", "--port", "0", environment=environment, warm=True) as product:
            yield anyio.run(announced, product)
            assert product.terminate() == 0
        simulator.terminate()


@pytest.mark.night
@pytest.mark.slow
@pytest.mark.parametrize("revision", OF_ANY_SERVER)
def test_the_product_passes_what_is_asked_of_any_server(
    suite: Suite, address: str, revision: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = suite.play(address, tmp_path / "results", "--suite", "all", "--spec-version", revision)

    asked = [seen_of(played[name]) for name in sorted(OF_ANY_SERVER[revision])]
    said(capsys, f"conformance {revision}, product", asked, f"{len(played) - len(asked)} need fixtures")
    assert [str(scenario) for scenario in asked if not scenario.has_passed] == []
    if "server-stateless" in OF_ANY_SERVER[revision]:
        assert {check.id for check in played["server-stateless"].having("SUCCESS")} >= OF_STREAMS


def seen_of(scenario: Scenario) -> Scenario:
    """Return a scenario without the checks that had nothing to look at."""
    seen = (check for check in scenario.checks if not (check.error_message or "").startswith(UNTESTABLE))
    return Scenario(scenario.name, tuple(seen))
