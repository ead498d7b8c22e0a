"""`ask`: one answer in the terminal, for people and for scripts."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.cli.ask import arguments_of
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.ask_command import Asker
from support.exchange_socket import ServedExchange, served_exchange
from support.process import COMMAND, PATIENCE_SECS, clean_environment, run_warm

PNG = b"\x89PNG\r\n\x1a\n"
CHART = '{"symbol": "BINANCE:BTCUSDT", "interval": "1h"}'


@pytest.fixture(scope="module")
def served() -> Iterator[ServedExchange]:
    with served_exchange() as exchange:
        yield exchange


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Asker:
    return Asker(monkeypatch, capsysbinary)


def test_an_answer_is_the_only_thing_on_standard_output(served: ServedExchange) -> None:
    done = subprocess.run(
        [*COMMAND, "ask", "get_ticker", "btcusdt"],
        input=b"",
        capture_output=True,
        timeout=PATIENCE_SECS,
        check=False,
        env=clean_environment(served.environment()),
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"# BTCUSDT Market Data\n")


def test_a_script_gets_the_structure(ask: Asker, served: ServedExchange) -> None:
    done = ask("get_klines", "symbol=ethusdt", "--json", "interval=1h", "limit=3", served=served)

    answer: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (answer["success"], answer["symbol"], answer["count"]) == (True, "ETHUSDT", 3)


def test_the_demo_answers_without_a_network(ask: Asker) -> None:
    done = ask("--demo", "get_account_info", "--json")

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["host"], answer["mode"]) == ("paper", "paper")


def test_without_a_tool_every_tool_is_listed_that_is_not_for_a_page(ask: Asker) -> None:
    for_people, for_scripts = ask(), ask("--json")
    tools = [tool.name for tool in CATALOGUE.tools if not tool.for_view_only]

    assert for_people.returncode == for_scripts.returncode == 0
    assert [each["name"] for each in json.loads(for_scripts.stdout)] == tools
    for name in tools:
        assert f"  {name} ".encode() in for_people.stdout


def test_only_tools_that_were_picked_are_there(ask: Asker) -> None:
    listed = ask(MCP_BINANCE_TOOLSETS="guide").stdout
    refused = ask("get_ticker", "btcusdt", MCP_BINANCE_TOOLSETS="guide")

    assert b"search_guides" in listed
    assert b"get_ticker" not in listed
    assert refused.returncode == 2


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ticker", "get_ticker"),
        ("get_tikcer", "get_ticker"),
        ("klines", "get_klines"),
        ("serch_guides", "search_guides"),
    ],
)
def test_a_tool_that_is_not_there_is_told_with_the_one_that_was_meant(ask: Asker, typed: str, meant: str) -> None:
    done = ask(typed)

    assert (done.returncode, done.stdout) == (2, b"")
    assert f"Unknown tool '{typed}'. Did you mean {meant}".encode() in done.stderr


def test_names_are_taken_with_dashes_and_in_any_case(ask: Asker) -> None:
    done = ask("--demo", "Get-Server-Time")

    assert done.returncode == 0, done.stderr


def test_a_refusal_is_an_exit_code_of_one_and_is_no_answer(ask: Asker, served: ServedExchange) -> None:
    for_people = ask("get_ticker", "BTC/USD", served=served)
    for_scripts = ask("get_ticker", "BTC/USD", "--json", served=served)

    assert (for_people.returncode, for_people.stdout) == (1, b"")
    assert b"Did you mean BTCUSDT" in for_people.stderr
    assert (for_scripts.returncode, for_scripts.stderr) == (1, b"")
    assert json.loads(for_scripts.stdout)["error_type"] == "invalid_symbol"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("get_klines",), b"interval  required; one of 1s, 1m"),
        (("get_klines", "btcusdt"), b"interval: Field required"),
        (("get_klines", "btcusdt", "1h", "24"), b"'24' needs a name: NAME=VALUE, with one of symbol, interval, limit"),
        (("get_klines", "btcusdt", "1h", "limit=many"), b"limit: "),
        (("get_ticker", "@/nonexistent/symbol"), b"@/nonexistent/symbol: No such file or directory"),
    ],
)
def test_wrong_usage_says_what_the_tool_takes(ask: Asker, words: tuple[str, ...], said: bytes) -> None:
    done = ask("--demo", *words)

    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr
    assert f"{words[0]} takes:".encode() in done.stderr


@pytest.mark.parametrize(
    ("tool", "words", "meant"),
    [
        ("get_ticker", ["BTCUSDT"], {"symbol": "BTCUSDT"}),
        ("get_ticker", ["symbols=BTCUSDT, ETHUSDT"], {"symbols": ["BTCUSDT", "ETHUSDT"]}),
        ("get_ticker", ["symbols=BTCUSDT", "symbols=ETHUSDT"], {"symbols": ["BTCUSDT", "ETHUSDT"]}),
        ("get_ticker", ['symbols=["BTCUSDT"]'], {"symbols": ["BTCUSDT"]}),
        ("get_klines", ["limit=5", "BTCUSDT", "1h"], {"symbol": "BTCUSDT", "interval": "1h", "limit": 5}),
        ("search_guides", ["how do I size a position"], {"query": "how do I size a position"}),
        ("search_guides", ["a == b", "limit=3"], {"query": "a == b", "limit": 3}),
        ("estimate_slippage", ["btcusdt", "buy", "0.5"], {"symbol": "btcusdt", "side": "buy", "amount": "0.5"}),
        ("fetch_chart_documentation", ["forceRefresh=yes"], {"forceRefresh": True}),
        ("generate_chart_image", [CHART], {"config": json.loads(CHART)}),
        ("generate_chart_image", [f"config={CHART}", "storage=false"], {"config": json.loads(CHART), "storage": False}),
        ("get_server_time", [], {}),
    ],
)
def test_a_value_becomes_what_the_tool_takes(tool: str, words: list[str], meant: dict[str, object]) -> None:
    spec = CATALOGUE.tool(tool)
    assert spec is not None

    assert arguments_of(words, spec.input_schema) == meant


@pytest.mark.night
def test_a_value_can_come_from_a_file_or_from_standard_input(tmp_path: Path) -> None:
    (tmp_path / "chart.json").write_text(CHART, encoding="utf-8")

    from_file = run_warm("ask", "--demo", "validate_chart_config", f"config=@{tmp_path}/chart.json", "--json")
    piped = run_warm("ask", "--demo", "validate_chart_config", "@-", "--json", given=CHART.encode())

    assert from_file.returncode == piped.returncode == 0, piped.stderr
    assert json.loads(from_file.stdout) == json.loads(piped.stdout)


def test_a_picture_is_saved_and_its_place_is_said(ask: Asker, tmp_path: Path) -> None:
    file = tmp_path / "my chart.png"

    done = ask("--demo", "generate_chart_image", CHART, "--output", str(file))

    assert done.returncode == 0, done.stderr
    assert file.read_bytes().startswith(PNG)
    assert done.stderr.decode() == f"Saved: {file}\n"
    assert b"PNG" in done.stdout.upper()


@pytest.mark.night
def test_a_picture_goes_to_standard_output_alone() -> None:
    done = run_warm("ask", "--demo", "generate_chart_image", CHART, "--output", "-")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(PNG)
    assert b"PNG" in done.stderr.upper()


@pytest.mark.night
def test_a_picture_that_nobody_saves_is_not_printed(ask: Asker) -> None:
    done = ask("--demo", "generate_chart_image", CHART)

    assert done.returncode == 0, done.stderr
    assert PNG not in done.stdout
    assert b"add --output FILE" in done.stderr


def test_an_answer_can_be_saved_and_a_file_that_cannot_be_written_is_said(ask: Asker, tmp_path: Path) -> None:
    saved = ask("--demo", "get_ticker", "btcusdt", "--json", "--output", str(tmp_path / "ticker.json"))
    refused = ask("--demo", "get_ticker", "btcusdt", "--output", str(tmp_path / "nowhere" / "ticker.json"))

    assert (saved.returncode, saved.stdout) == (0, b"")
    assert json.loads((tmp_path / "ticker.json").read_text(encoding="utf-8"))["symbol"] == "BTCUSDT"
    assert refused.returncode == 2
    assert b"No such file or directory" in refused.stderr
