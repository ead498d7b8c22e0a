"""The page that compares has a source beside every line about others, and every source at one state."""

import re
from datetime import date

from old_sources import old_sources, read_on
from support.pages import ROOT

PAGE = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
OTHERS = (
    "Binance MCP Server", "Binance's skills", "Agent Trade Kit", "Kraken CLI", "Bitget Agent MCP", "Gate MCP",
    "Coinbase for Agents", "Gemini MCP Server", "Robinhood Trading MCP",
)  # fmt: skip
SOURCES = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", PAGE, re.MULTILINE))
TEXT = PAGE.split("## Where and what")[1].split("\n[bin]: ")[0]


def test_every_row_and_line_about_another_names_its_source() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith(tuple(f"| {name}" for name in OTHERS))]
    theirs = TEXT.split("## What they do that this one does not\n")[1].split("\n## ")[0]
    points = re.findall(r"^- .+?(?=\n- |\Z)", theirs.strip(), re.MULTILINE | re.DOTALL)
    cells = [cell.strip() for row in rows for cell in row.strip("|").split("|")[1:] if cell.strip()]

    assert {name for name in OTHERS if any(name in row for row in rows)} == set(OTHERS)
    assert [cell for cell in cells if not re.search(r"\(\[\d\]\[[\w-]+\]\)$", cell)] == []
    assert len(points) > 5
    assert [point for point in points if not re.search(r"\]\[[\w-]+\]\)", point)] == []


def test_every_source_is_defined_and_used() -> None:
    used = set(re.findall(r"\]\[([\w-]+)\]", PAGE))

    assert used == set(SOURCES)


def test_a_file_of_a_repository_is_named_at_one_commit_with_the_day_it_was_read() -> None:
    files = [address for address in SOURCES.values() if "/blob/" in address]

    assert len(files) > 5
    for address in files:
        (commit,) = re.findall(r"/blob/([0-9a-f]{40})/", address)
        assert f"`{commit[:7]}`" in PAGE
    assert {name for name, _ in read_on(PAGE)} == set(OTHERS) - {"Binance's skills"}


def test_a_source_is_reported_when_it_was_read_more_than_90_days_ago() -> None:
    page = "| **One** | us | 2026-01-01 | x | y |\n| **Two** | us | 2026-03-01 | x | y |\n| this one | us | | | |\n"

    assert old_sources(page, date(2026, 4, 1)) == []
    assert old_sources(page, date(2026, 4, 2)) == ["One was read on 2026-01-01"]
    assert old_sources(page, date(2026, 6, 1)) == ["One was read on 2026-01-01", "Two was read on 2026-03-01"]
