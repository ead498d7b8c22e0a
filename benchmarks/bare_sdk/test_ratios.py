"""Twice the bars beside the bare SDK, in short windows: `scripts/bench` measures them, README.md has what it found."""

import json
import subprocess
import sys
from collections.abc import Callable
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "scripts" / "bench"
YARDSTICK = Path(__file__).with_name("ab.py")
SHORT = ("--clients", "16", "--rounds", "1", "--seconds", "0.5")
STATIC, MARKET = "guide://help", "binance://market/btcusdt"
# The median of nine pairs is 1.05 for the server and 1.2 for a demo as a goal.
FIRST_ANSWER, PAIRS = 1.5, 9
GREETED, LISTED = 2 * 1.0, 2 * 1.2
# A page that stands still, a cached market page, a tool: ours by what the bare SDK takes for a constant text.
BARS = {"modern": {STATIC: 1.25, MARKET: 1.35, "tool": 1.5}, "stateful": {STATIC: 1.1, MARKET: 1.15, "tool": 1.25}}
SLOWEST, ON_A_PIPE = 2 * 1.25, 2 * 1.5


def measured(folder: Path, *options: str) -> dict[str, Any]:
    figures = folder / "figures.json"
    subprocess.run([BENCH, *options, "--json", figures], check=True, capture_output=True, timeout=300)
    return json.loads(figures.read_text())


def test_a_start_and_a_request_on_a_pipe_cost_no_more_than_twice_their_bars(tmp_path: Path) -> None:
    figures = measured(tmp_path, "stdio", MARKET, "--cold", "3", "--rounds", "1", "--requests", "50")
    cold = figures["cold_start"]

    assert cold["ours_cpu_ms"] <= GREETED * cold["bare_cpu_ms"], cold
    assert cold["ours_list_cpu_ms"] <= LISTED * cold["bare_list_cpu_ms"], cold
    assert all(each["cpu_ratio"] <= ON_A_PIPE for each in figures["rows"]), figures["rows"]


@pytest.mark.parametrize("command", ["mcp-binance-server", "mcp-binance-server demo"])
def test_the_first_answer_costs_little_more_cpu_than_the_bare_sdks(
    tmp_path: Path, command: str, sized: Callable[[int, int], int]
) -> None:
    figures, pairs = tmp_path / "figures.json", str(sized(PAIRS, 5))
    options = ("--ours", command, "--tool", "get_ticker", "--first-answers", pairs, "--json", figures)

    subprocess.run([sys.executable, YARDSTICK, "stdio", *options], check=True, capture_output=True, timeout=300)

    found = json.loads(figures.read_text())
    assert found["ratio"] <= FIRST_ANSWER, found


@pytest.mark.parametrize("page", [STATIC, pytest.param(MARKET, marks=pytest.mark.night)])
def test_requests_cost_no_more_than_twice_their_bars(tmp_path: Path, page: str) -> None:
    ratios = {named(each): each["cpu_ratio"] for each in measured(tmp_path, "http", page, *SHORT)["rows"]}

    for mode, bars in BARS.items():
        assert ratios[f"{mode} tool"] <= 2 * bars["tool"], ratios
        assert ratios[f"{mode} res"] <= 2 * bars[page], ratios


@pytest.mark.night
@pytest.mark.parametrize("page", [STATIC, MARKET])
def test_p99_is_no_more_than_twice_its_bar(tmp_path: Path, page: str) -> None:
    rows = measured(tmp_path, "http", page, *SHORT)["rows"]

    assert exp(fmean(log(each["ours_p99"] / each["bare_p99"]) for each in rows)) <= SLOWEST, rows


def named(row: dict[str, Any]) -> str:
    return str(row["case"]).removeprefix("http ").removesuffix(" c=16")
