"""Write docs/clients.md from a JUnit file of tests/clients: what works in each client, its version and the date.

scripts/test tests/clients --tier night --junitxml=FILE.xml; python scripts/clients_page.py FILE.xml
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from clients.facts import FACTS  # noqa: E402 - found by the line above
from clients.table import CLIENTS  # noqa: E402

PAGE = ROOT / "docs" / "clients.md"
HEAD = """# Clients

Real clients and agent frameworks ran against `mcp-binance-server demo` over stdio on {date}, each with a scripted
model that records everything a client shows it. "yes" means that the fact reached the model. The table is generated
from the last run of `tests/clients`.

| Client | Version | MCP revision | {columns} |
|---|---|---|{lines}|
"""
FOOT = """
{facts}

FastMCP sees the same facts over Streamable HTTP. In every run over stdio, standard output carried JSON only, and no
process remained 5 s after the client ended. A nightly test repeats the latter after SIGINT and SIGKILL.

## What is missing

{gaps}

Clients without a picture still get the chart's legend in words.
"""


@dataclass(frozen=True)
class Row:
    """The properties that one test recorded."""

    title: str
    version: str
    revision: str
    missing: frozenset[str]
    date: str


def rows(junit: Path) -> Iterator[Row]:
    """Yield a row for each run of a client."""
    for suite in ElementTree.parse(junit).iter("testsuite"):  # noqa: S314 - written by our own test run
        date = (suite.get("timestamp") or "")[:10]
        for case in suite.iter("testcase"):
            found = {each.get("name", ""): each.get("value", "") for each in case.iter("property")}
            if "revision" in found:
                missing = frozenset(found["missing"].split(",")) - {""}
                yield Row(found["title"], found["version"], found["revision"], missing, date)


def page(found: list[Row]) -> str:
    """Return the page, with its clients in the order of the table in tests/clients."""
    order = [each.title for each in CLIENTS]
    found = sorted(found, key=lambda row: order.index(row.title))
    columns = [*FACTS]
    head = HEAD.format(
        date=max(row.date for row in found), columns=" | ".join(columns), lines="|".join(["---"] * len(columns))
    )
    body = ""
    for row in found:
        cells = ["no" if name in row.missing else "yes" for name in columns]
        body += f"| {' | '.join([row.title, row.version, row.revision, *cells])} |\n"
    facts = "\n".join(f"- **{name}**: {FACTS[name].text}" for name in columns)
    gaps = "\n".join(
        f"- **{client.title}**: {'; '.join(dict.fromkeys(client.lacks.values()))}"
        for client in CLIENTS
        if client.lacks and client.title in {row.title for row in found}
    )
    return head + body + FOOT.format(facts=facts, gaps=gaps)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/clients_page.py FILE.xml")
    PAGE.write_text(page(list(rows(Path(sys.argv[1])))), encoding="utf-8")
