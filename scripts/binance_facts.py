#!/usr/bin/env python3
"""Write the table of Binance's endpoints in use, from copies of Binance's own documents.

scripts/binance_facts.py DOCS CONNECTOR    writes docs/design/binance-endpoints.md

DOCS is a git copy of binance/binance-spot-api-docs, CONNECTOR one of binance/binance-connector-python. Only facts are
taken: method, path, weights, link, and the date of the copy.
"""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from mcp_binance_server.exchange.endpoints import RestCall, WriteCall
from mcp_binance_server.exchange.futures.endpoints import FUTURES_CALLS
from mcp_binance_server.exchange.spot.endpoints import ENDPOINTS, WRITES

PAGE = Path(__file__).parents[1] / "docs" / "design" / "binance-endpoints.md"
SPOT = "https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md"
HEAD = """\
<!-- Written by scripts/binance_facts.py from copies of Binance's documents. Change the script, not this page. -->

# Binance's endpoints

Every REST call of this server, the weight that it charges to its own budget, and the weights in Binance's document of
the date. A call whose weight depends on its parameters has several. Since 2026-04-02 a successful order or cancel has
weight 0 at Binance; the budget first charges the documented weight. A nightly test compares this table with the code.

| Method | Path | Charged | Documented | As of |
|---|---|---|---|---|
"""

Key = tuple[str, str]
CALL = re.compile(r"^\s*(GET|POST|PUT|DELETE) (/\S+)\s*$", re.MULTILINE)
HEADING = re.compile(r"^#{3,4} (.+)$", re.MULTILINE)
WEIGHT = re.compile(r"\*\*Weight(?:\(IP\))?:?\*\*:?(.*?)(?=^\*\*[A-Z]|^#{2,4} |\Z)", re.DOTALL | re.MULTILINE)
SDK_WEIGHT = re.compile(
    r"^ *Weight[^:\n]*:(.*?)(?=^ *(?:Args|Notes?|Parameters|Security[^:\n]*|Response):|\Z)", re.DOTALL | re.MULTILINE
)
NUMBER = re.compile(r"\d+")


class Fact(NamedTuple):
    """Weights of an endpoint in a document, the place, and the date of the copy."""

    weights: frozenset[int]
    link: str
    date: str


def spot_facts(document: str, date: str) -> Iterator[tuple[Key, Fact]]:
    """Yield the endpoints of rest-api.md."""
    places = [*HEADING.finditer(document)]
    for place, following in zip(places, [*places[1:], None], strict=True):
        section = document[place.end() : following.start() if following else None]
        call, weight = CALL.search(section), WEIGHT.search(section)
        if call is not None and weight is not None:
            yield (call[1], call[2]), Fact(weights_in(weight[1]), f"{SPOT}#{anchor(place[1])}", date)


def connector_facts(source: str, date: str) -> Iterator[tuple[Key, Fact]]:
    """Yield the endpoints in the docstrings of a module of the connector."""
    for docstring in source.split('"""')[1::2]:
        call, weight = CALL.search(docstring), SDK_WEIGHT.search(docstring)
        link = re.search(r"https://developers\.binance\.com/\S+", docstring)
        if call is not None and link is not None:
            weights = frozenset[int]() if weight is None else weights_in(weight[1])
            yield (call[1], call[2]), Fact(weights, link[0], date)


def weights_in(text: str) -> frozenset[int]:
    """Return the weights of a text or a table; in a table they are in the last column that has a number."""
    if "<tr" in text:
        cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in text.split("<tr")]
        return frozenset(int(found[0]) for row in cells if row and (found := NUMBER.findall(row[-1])))
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if "|" in line]
    if rows:
        last = [row[-1] or row[-2] for row in rows if len(row) > 1]
        return frozenset(int(number) for cell in last for number in NUMBER.findall(cell))
    # A share of 500 requests in five minutes is a limit of its own, not a weight.
    plain = re.sub(r"<[^>]+>|share.*", "", text)
    return frozenset(int(number) for number in NUMBER.findall(plain)[:2])


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def charged() -> Mapping[Key, set[int]]:
    """Return the weights that the tables of this server charge, by method and path."""
    found: dict[Key, set[int]] = defaultdict(set)
    calls: Iterable[RestCall] = (*ENDPOINTS, *WRITES, *FUTURES_CALLS)
    for each in calls:
        found[each.method if isinstance(each, WriteCall) else "GET", each.path].add(each.weight)
    return found


def page(facts: Mapping[Key, Fact]) -> str:
    """Return the page for the endpoints in use; one without a fact has no document."""
    rows = sorted(charged().items(), key=lambda row: (row[0][1], row[0][0]))
    return HEAD + "".join(_row(key, weights, facts.get(key)) for key, weights in rows)


def _row(key: Key, weights: Iterable[int], fact: Fact | None) -> str:
    method, path = key
    if fact is None:
        return f"| {method} | `{path}` | {_numbers(weights)} | no document | |\n"
    documented = _numbers(fact.weights) or "not given"
    return f"| {method} | [`{path}`]({fact.link}) | {_numbers(weights)} | {documented} | {fact.date} |\n"


def _numbers(weights: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(weights)))


def _git(copy: str, *arguments: str) -> str:
    command = ["git", "-C", copy, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - the caller's copy


def main(arguments: list[str]) -> int:
    """Write the page."""
    if len(arguments) != 2:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    docs, connector = arguments
    date = _git(connector, "log", "-1", "--format=%cs", "HEAD").strip()
    modules = [
        name
        for name in _git(connector, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
        if re.search(r"clients/(wallet|derivatives_trading_usds_futures)/src/.*/rest_api/api/\w+\.py$", name)
    ]
    facts = {
        key: fact for name in modules for key, fact in connector_facts(_git(connector, "show", f"HEAD:{name}"), date)
    }
    date = _git(docs, "log", "-1", "--format=%cs", "HEAD", "--", "rest-api.md").strip()
    facts |= dict(spot_facts(_git(docs, "show", "HEAD:rest-api.md"), date))
    PAGE.write_text(page(facts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
