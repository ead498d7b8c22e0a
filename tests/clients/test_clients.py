"""Real clients with a scripted model: the facts that reach the model, and the processes that remain."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import mcp
import pytest

from clients.cell import SERVER, Cell, Line, Run, play, started
from clients.facts import FACTS, SCRIPT, TICKER, TRADE, missing
from clients.table import CLIENTS, FASTMCP, MCP_REMOTE, NPM, TYPESCRIPT_1, TYPESCRIPT_2, Client
from support.built import installed_clients
from support.process import Process
from support.product import announced

pytestmark = pytest.mark.timeout(300)
# The newest revision answers a call with a question; the older ones ask the client by `elicitation/create`.
NEWEST = "2026-07-28"
POLICY = '[confirm]\nask = "always"\nclient_per_order = "100"\n[paper]\nbalances = { USDT = "10000" }\n'
Recorder = Callable[[str, object], None]


def cases(*clients: Client) -> list[object]:
    return [pytest.param(each, id=each.name, marks=[pytest.mark.night] * each.is_night) for each in clients]


@pytest.fixture(scope="session")
def installed() -> Path:
    return installed_clients()


@pytest.fixture
def address() -> Iterator[str]:
    """Serve a demo over HTTP, and return the address of its MCP endpoint."""
    with Process("demo", "--http", "--port", "0", warm=True) as demo:
        yield anyio.run(announced, demo)
        demo.terminate()


@pytest.fixture
def confirming(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Return the variables of a server that asks before each order on paper."""
    policy, state = tmp_path / "trading.toml", tmp_path / "state"
    policy.write_text(POLICY, encoding="utf-8")
    policy.chmod(0o600)
    state.mkdir(mode=0o700)
    with Process("simulator", warm=True) as simulator:
        exchange = json.loads(simulator.line())
        yield {
            "BINANCE_REST_URL": exchange["rest"],
            "BINANCE_STREAM_URL": exchange["streams"],
            "MCP_BINANCE_TRADING": "paper",
            "MCP_BINANCE_TRADING_POLICY": str(policy),
            "MCP_BINANCE_TRADING_DIR": str(state / "trading"),
        }
        simulator.terminate()


def place_of(client: Client, installed: Path) -> Path:
    if client.is_night and not (installed / client.place).is_dir():
        pytest.skip("the night's clients run once, on Python 3.11")
    return installed


@pytest.mark.parametrize("client", cases(*(each for each in CLIENTS if each is not MCP_REMOTE)))
def test_a_model_sees_the_facts_and_no_process_remains(
    client: Client, installed: Path, tmp_path: Path, record_property: Recorder
) -> None:
    run = play(client, place_of(client, installed), tmp_path, SCRIPT)

    check(run, installed, record_property)


def test_a_model_sees_the_facts_through_a_bridge_to_http(
    address: str, installed: Path, tmp_path: Path, record_property: Recorder
) -> None:
    node = next(installed.glob(f"{NPM}/node_modules/node-linux-*/bin/node"))
    bridge = installed / NPM / "node_modules" / "mcp-remote" / "dist" / "proxy.js"

    run = play(MCP_REMOTE, installed, tmp_path, SCRIPT, server=(str(node), str(bridge), address))

    check(run, installed, record_property)


def test_a_model_sees_the_facts_over_http(address: str, installed: Path, tmp_path: Path) -> None:
    client = replace(FASTMCP, variables={"SERVER": address})

    run = play(client, installed, tmp_path, SCRIPT)

    assert missing(replace(run, lines=[anyio.run(listed_at, address)])) == set(), run.output[-2000:]
    assert run.code == 0, run.output[-2000:]
    assert run.left == []


async def listed_at(address: str) -> Line:
    """Return the list of tools at an address, as a line of a pipe has it."""
    async with mcp.Client(address, cache=None) as client:
        tools = (await client.list_tools()).tools
    listed = [each.model_dump(by_alias=True, mode="json", exclude_none=True) for each in tools]
    return Line("<", json.dumps({"result": {"tools": listed}}))


def check(run: Run, installed: Path, record_property: Recorder) -> None:
    client = run.client
    for name, value in (("title", client.title), ("version", client.version(installed)), ("revision", run.revision)):
        record_property(name, value)
    found = missing(run)
    record_property("missing", ",".join(each for each in FACTS if each in found))

    assert found == {*client.lacks}, run.output[-2000:]
    assert run.code == 0, run.output[-2000:]
    assert [*run.messages("<")]
    assert run.left == []


@pytest.mark.parametrize(
    ("client", "is_newest"), [(TYPESCRIPT_1, False), (TYPESCRIPT_2, True)], ids=["older", "newest"]
)
def test_an_order_is_confirmed_by_the_client_in_both_eras(
    client: Client, confirming: dict[str, str], installed: Path, tmp_path: Path, *, is_newest: bool
) -> None:
    run = play(client, installed, tmp_path, TRADE, server=SERVER, variables=confirming)

    assert (run.revision == NEWEST) is is_newest
    assert ("elicitation/create" in run.methods("<")) is not is_newest
    assert "is FILLED" in run.last.results[-1], run.last.results[-1]
    assert "PAPER" in run.last.results[-1]


@pytest.mark.parametrize("end", [Cell.interrupt, Cell.kill], ids=["SIGINT", "SIGKILL"])
@pytest.mark.parametrize(
    "client",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.night] * (each is not TYPESCRIPT_1))
        for each in CLIENTS
        if each is not MCP_REMOTE
    ],
)
def test_the_server_ends_with_its_client(
    client: Client, end: Callable[[Cell], None], installed: Path, tmp_path: Path
) -> None:
    with started(client, place_of(client, installed), tmp_path, (TICKER,), is_held=True) as cell:
        assert cell.model.is_over.wait(client.patience_secs), (tmp_path / "output.txt").read_text(errors="replace")

        end(cell)
        cell.model.released.set()  # some clients end only after a reply
        cell.wait(client.patience_secs)

        assert cell.over().left == []


@pytest.mark.night
@pytest.mark.parametrize(
    ("name", "state"), [("codex", "enabled"), ("claude-code", "Connected"), ("gemini", "Connected")]
)
def test_a_client_lists_the_server_that_setup_added(name: str, state: str, installed: Path, tmp_path: Path) -> None:
    client = next(each for each in CLIENTS if each.name == name)
    place = place_of(client, installed)
    setup = shlex.join([*SERVER, "setup", "--client", name, "--no-keys", "--yes"])
    program = f"$installed/{client.place}/{client.command[0]}" if "/" in client.command[0] else client.command[0]
    listing = replace(client, command=("sh", "-c", f"{setup} && exec {program} mcp list"), files={})

    run = play(listing, place, tmp_path, ())

    assert re.search(rf"binance.*{state}", run.output), run.output
    assert run.left == []
