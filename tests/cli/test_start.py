"""A start on a pipe: what is loaded before a client is greeted and what after; and what `setup` does without."""

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.process import Process
from support.raw import INITIALIZE, request

pytestmark = pytest.mark.flood

# Nobody who only talks to the market over a pipe needs one of these.
NEVER = (
    "PIL",
    "cryptography.hazmat.primitives.serialization",
    "grpc",
    "jwt",
    "mcp_binance_server.guide.config_file",
    "mcp_binance_server.sessions",
    "binance_simulator",
    "mcp_binance_server.transports.grpc",
    "mcp_binance_server.transports.http",
    "prometheus_client",
    "redis",
    "resvg_py",
    "rich",
    "selectolax",
    "sqlite3",
    "talipp",
    "typer",
    "yaml",
)
# What answers questions has time until the first one.
NOT_YET = (
    "mcp_binance_server.analytics",
    "mcp_binance_server.app",
    "mcp_binance_server.charts",
    "mcp_binance_server.feeds",
    "mcp_binance_server.guide",
    "mcp_binance_server.services",
    "mcp_binance_server.state.engine",
    "mcp_binance_server.surface.catalogue",
    "mcp_binance_server.surface.confirm",
    "mcp_binance_server.surface.dispatch",
    "mcp_binance_server.surface.views",
    "mcp_binance_server.trading",
    "msgspec",
    "websockets",
)
MOST_OWN_MODULES = 50

TELLING = """
import os, sys
from pathlib import Path
from mcp_binance_server.cli.main import main

code = main()
Path(os.environ["TOLD"]).write_text(" ".join(sys.modules))
sys.exit(code)
"""
BROKEN = """
import sys
from mcp_binance_server.cli.main import main

sys.modules["mcp_binance_server.services.market.service"] = None
sys.exit(main(["--stdio"]))
"""
# A server whose loading takes longer than any client waits, and shows when it has begun.
ENDLESS = """
import sys, threading
from mcp_binance_server.cli import {module} as module
from mcp_binance_server.cli.main import main

def load():
    print("loading", file=sys.stderr, flush=True)
    threading.Event().wait()

module.{function} = load
sys.exit(main({arguments}))
"""
COMPLETION = {
    "ref": {"type": "ref/prompt", "name": "trading_analysis"},
    "argument": {"name": "strategy", "value": ""},
}
Loaded = Callable[[Callable[[Process], object]], set[str]]


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measured run puts its own modules into every child."""
    for name in [name for name in os.environ if name.startswith(("COVERAGE_", "MCP_TEST_LINES"))]:  # noqa: TID251
        monkeypatch.delenv(name)


@pytest.fixture
def loaded_by(tmp_path: Path, unmeasured: None) -> Loaded:  # noqa: ARG001 - asked for, not used
    """Talk to a server and return what it had loaded when its client left."""

    def loaded(talk: Callable[[Process], object]) -> set[str]:
        told = tmp_path / "modules"
        with Process("--stdio", code=TELLING, environment={"TOLD": str(told)}) as process:
            talk(process)
            process.close_input()
            assert process.wait() == 0
        return {*told.read_text(encoding="utf-8").split()}

    return loaded


@pytest.mark.night
def test_a_client_is_greeted_before_the_catalogue_is_loaded(loaded_by: Loaded) -> None:
    loaded = loaded_by(lambda process: process.say(INITIALIZE) or process.answer())

    assert sorted(loaded & {*NEVER, *NOT_YET}) == []
    assert len([name for name in loaded if name.startswith("mcp_binance_server")]) <= MOST_OWN_MODULES


@pytest.mark.parametrize(
    ("settings", "tells"),
    [
        ({}, True),
        ({"MCP_BINANCE_ORDERBOOK_ANALYTICS": "false"}, False),
        ({"BINANCE_REST_URL": "http://127.0.0.1:9"}, False),
        ({"MCP_BINANCE_TOOLSETS": "guide"}, False),
        ({"MCP_BINANCE_CHART_APP": "off"}, True),
    ],
)
def test_a_greeting_promises_what_the_catalogue_will_keep(settings: dict[str, str], *, tells: bool) -> None:
    with Process("--stdio", environment=settings, warm=True) as process:
        early = process.shake_hands()["result"]["capabilities"]
    late = anyio.run(capabilities_of, settings)

    assert early == late
    assert early["resources"]["subscribe"] is tells


async def capabilities_of(settings: dict[str, str]) -> dict[str, object]:
    async with running_app(read_settings(settings)) as app:
        told = app.server.create_initialization_options().capabilities
    never_sent = None if told.extensions else {"extensions"}
    return told.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=never_sent)


@pytest.mark.night
def test_a_client_that_is_ready_finds_the_catalogue_and_nothing_that_it_may_never_need(loaded_by: Loaded) -> None:
    def talk(process: Process) -> None:
        process.shake_hands()
        process.ask(1, "completion/complete", COMPLETION)

    loaded = loaded_by(talk)

    assert sorted(loaded & {*NEVER}) == []
    assert "mcp_binance_server.surface.catalogue" in loaded


@pytest.mark.night
@pytest.mark.parametrize("modern", [False, True])
def test_questions_that_do_not_wait_for_the_catalogue_are_all_answered_from_it(*, modern: bool) -> None:
    methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "tools/list"]

    with Process("--stdio") as process:
        if not modern:
            process.say(INITIALIZE)
            process.answer()
        process.say(*(request(place, method, {}, modern=modern) for place, method in enumerate(methods)))
        answers = {answer["id"]: answer["result"] for answer in [process.answer() for _ in methods]}

    assert [tool["name"] for tool in answers[0]["tools"]] == [spec.name for spec in CATALOGUE.tools]
    assert answers[4] == answers[0]
    assert len(answers[1]["prompts"]) == len(CATALOGUE.prompts)
    assert len(answers[2]["resources"]) == len(CATALOGUE.resources)
    assert len(answers[3]["resourceTemplates"]) == len(CATALOGUE.templates)


@pytest.mark.night
def test_a_catalogue_that_cannot_be_loaded_is_told_to_all_who_need_it() -> None:
    with Process(code=BROKEN) as process:
        greeting = process.shake_hands()
        failures = [process.ask(place, "completion/complete", COMPLETION) for place in (1, 2)]
        pong = process.ask(3, "ping", {})
        process.close_input()
        code = process.wait()

    assert "result" in greeting
    assert [each["error"]["code"] for each in failures] == [-32603, -32603]
    assert pong["result"] == {}
    assert code == 1
    log = process.errors.read_text(encoding="utf-8")
    assert all(each["error"]["data"]["error_id"] in log for each in failures)
    assert "mcp_binance_server.services.market.service" in log


@pytest.mark.usefixtures("unmeasured")
def test_who_has_no_key_tried_does_not_wait_until_a_server_is_loaded(tmp_path: Path) -> None:
    told = tmp_path / "modules"
    settings = {"TOLD": str(told), "HOME": str(tmp_path)}

    with Process("setup", "--client", "cursor", "--dry-run", code=TELLING, environment=settings) as process:
        assert process.wait() == 0

    loaded = {*told.read_text(encoding="utf-8").split()}
    assert "mcp_binance_server.cli.setup.run" in loaded
    assert sorted(loaded & {"mcp", "httpx2", *NOT_YET}) == []


@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [("demo", "_load", ["demo", "--quiet"]), ("serve", "_load_upstream", ["--stdio"])],
    ids=["demo", "real"],
)
def test_a_server_ends_with_its_input_while_it_still_loads(module: str, function: str, arguments: list[str]) -> None:
    code = ENDLESS.format(module=module, function=function, arguments=arguments)
    with Process(code=code) as process:
        process.shake_hands()
        process.ask(1, "tools/list", {})
        while "loading" not in process.errors.read_text(encoding="utf-8"):
            process.ask(2, "ping", {})
        process.close_input()

        assert process.wait() == 0
