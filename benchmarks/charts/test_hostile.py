"""What is made to hurt the readers of charts, pages and words: refused, and at a bounded cost of the processor."""

from time import process_time
from typing import Any

import pytest

from charts.configs import CATALOGUE, CHART, NOW
from charts.language.talk import said
from mcp_binance_server.charts.catalogue import bundled_catalogue
from mcp_binance_server.charts.chartimg.docs import merged_catalogue
from mcp_binance_server.charts.chartimg.docs_markup import MOST_CHARACTERS, UnreadablePage
from mcp_binance_server.charts.chartimg.docs_parser import parse_documentation
from mcp_binance_server.charts.language.reading import LONGEST
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.charts.validate import Conditions, validate_chart
from mcp_binance_server.errors import InvalidArguments
from support.fixtures import DATA

DRAWINGS = "<h1 id='tradingview-chart-drawings'>"
# A tenth of this is usual; a pattern that runs wild takes minutes.
MOST_CPU_SECS = 2.0
HOSTILE = {
    "200,000 nested tags": "<div>" * 200_000,
    "as many nested tags as are read": "<div>" * 99_000,
    "nested tables": "<table><tr><td>" * 33_000,
    "open cells": "<table><tr>" + "<td>&amp;" * 99_000,
    "tags that never end": "<a " * 99_000,
    "comments that never end": "<!--" * 99_000,
    "scripts that never end": "<script>" * 99_000,
    "ampersands": "<h1>" + "&" * 2_000_000 + "</h1>",
    "a number of a million digits": "<h1>&#" + "9" * 1_000_000 + ";</h1>",
    "headings": "<h1>Request Limit</h1>" * 49_000,
    "sections": "<h1>TradingView Chart Indicators</h1>" + "".join(f"<h2>{n}</h2><pre></pre>" for n in range(24_000)),
    "plans": "<h1>Request Limit</h1><table><tr><th>Plan<th>day" + "".join(f"<tr><td>{n}<td>1" for n in range(33_000)),
    "columns": "<h1>Request Limit</h1><table><tr><th>Plan" + "<th>day" * 49_000 + "<tr>" + "<td>1" * 49_000,
    "deep JSON": "<h1>Snapshot v2</h1><blockquote>Request Example</blockquote><pre>" + "[" * 1_000_000 + "</pre>",
    "one word": "<" + "a" * 2_000_000,
    "one attribute": "<a" + " " * 2_000_000,
    "emoji": "<h1>" + "👋" * 1_000_000 + "</h1>",
    "too large": "x" * (MOST_CHARACTERS + 1),
    "five megabytes": "<p>x</p>" * 655_360,
    "nothing": "",
    "zeros": "\x00" * 1_000_000,
}
PIECES = (
    "(", "a ", "1 ", "1,", "EMA ", "EMA 1 ", "1/", "last ", "BTC ", "BTC/", "from 2024-01-01 to ", "not ", "$", "1h ",
    "-", "long 1 ", "support at 1, ", "1.", "NASDAQ:A+", "(NASDAQ:A", "aaaaaaaaaaaaaaaaaaaaaaaa ", "zzzzzzzz ", "jan ",
    "in ", "\n", "1x", "\0", "\u202e", "é", "1 and ", "between 1 and ", "rsi(", "rsi(1,", "since the ", "x:y ", "1000",
    "BTC:", "9" * 50,
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_refused_within_two_seconds_of_the_processor(name: str) -> None:
    page = HOSTILE[name] + "</html>"
    started = process_time()

    with pytest.raises(UnreadablePage):
        parse_documentation(page)

    assert process_time() - started < MOST_CPU_SECS


def test_a_real_page_with_a_hostile_middle_is_read_or_refused_within_two_seconds() -> None:
    page = (DATA / "charts/doc_fixture.html").read_text(encoding="utf-8")
    for poison in ("<div>" * 70_000, "<b id=x>" * 40_000 + "<p>" * 30_000, "</table>" * 70_000):
        spoilt = page.replace(DRAWINGS, poison + DRAWINGS)
        started = process_time()

        assert len(merged_catalogue(parse_documentation(spoilt), bundled_catalogue()).indicators) == 92

        assert process_time() - started < MOST_CPU_SECS


@pytest.mark.parametrize(
    "hostile",
    [
        {"studies": [{"name": f"bolinger{number}"} for number in range(20_000)]},
        {"studies": [{"name": "RSI", "inputs": {f"leng{number}": 1 for number in range(20_000)}}]},
        {"drawings": [{"type": f"trend lin{number}"} for number in range(20_000)]},
        {f"them{number}": "dark" for number in range(20_000)},
        {"width": 10**5_000, "height": -(10**5_000), "interval": 10**5_000, "shiftLeft": 10**5_000},
        {"drawings": [{"type": "hline", "coordinates": 10**5_000}], "range": {"from": 10**5_000}},
        {"symbol": "(" * 100_000, "theme": "d" * 100_000, "range": "9" * 100_000 + "D", "interval": "9" * 100_000},
        {"symbol": "A:B+" * 100_000, "override": {"style": {"candleStyle.upColor": "#" + "f" * 100_000}}},
    ],
    ids=["studies", "inputs", "drawings", "keys", "numbers", "coordinates", "texts", "formulas"],
)
def test_a_hostile_chart_costs_little_and_is_refused(hostile: dict[str, Any]) -> None:
    before = process_time()
    verdict = validate_chart({**CHART, **hostile}, catalogue=CATALOGUE, conditions=Conditions(PLANS["ULTRA"], NOW))

    assert not verdict.valid
    assert max(len(each.message) for each in verdict.findings) < 600
    assert process_time() - before < MOST_CPU_SECS


@pytest.mark.parametrize("around", [("", ""), ("BTC 1h ", ""), ("", " BTC 1h")], ids=["alone", "after", "before"])
@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_repetition_costs_little_and_answers_little(piece: str, around: tuple[str, str]) -> None:
    before, after = around
    text = (before + piece * LONGEST)[: LONGEST - len(after)] + after
    started = process_time()

    try:
        answer = said(text)
        size = len(answer.reasoning) + sum(map(len, answer.warnings))
    except InvalidArguments as refused:
        size = len(refused.message)

    assert process_time() - started < MOST_CPU_SECS
    assert size < 100_000
