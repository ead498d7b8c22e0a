"""The table of Binance's endpoints against the tables of our clients, and the script that reads the documents."""

import re
from datetime import date

import pytest

import binance_facts
from binance_facts import PAGE, charged, connector_facts, page, spot_facts, weights_in

ROW = re.compile(
    r"\| (?P<method>\w+) \| \[?`(?P<path>[^`]+)`\S* \| (?P<charged>[\d, ]+) \| (?P<told>[^|]*) \| (?P<date>\S*) ?\|"
)
DAY = "2026-07-21"
SPOT = """
### One call (USER_DATA)
```
GET /api/v3/one
```
Text with the number 7.

**Weight:** 4

**Parameters:** 500

#### A table
```
POST /api/v3/table
```
**Weight:**

|Condition| Request Weight|
|---------|---------------|
|Without flag 9| 1|
|With flag| 20|

**Data Source:** Memory

### By symbols
```
GET /api/v3/cells
```
**Weight:**
<table><tr><th>Symbols</th><th>Weight</th></tr>
<tr><td>1-20</td><td>2</td></tr><tr><td>21 or more</td><td>40</td></tr></table>

**Parameters:** none
"""
CONNECTOR = '''
def two():
    """
            Two
            GET /fapi/v1/two
            https://developers.binance.com/en/docs/x#two

            Weight: **1** for one symbol; **10** for all

            Args:
                limit: 500
    """

def three():
    """
            Three
            GET /fapi/v1/three
            https://developers.binance.com/en/docs/x#three

            Weight(IP): share 500/5min/IP with another call

            Args: none
    """
'''


def test_the_weights_of_a_document_are_read_and_no_other_number() -> None:
    found = dict(spot_facts(SPOT, DAY)) | dict(connector_facts(CONNECTOR, DAY))

    assert {path: sorted(fact.weights) for (_, path), fact in found.items()} == {
        "/api/v3/one": [4],
        "/api/v3/table": [1, 20],
        "/api/v3/cells": [2, 40],
        "/fapi/v1/two": [1, 10],
        "/fapi/v1/three": [],
    }
    assert found["GET", "/api/v3/one"].link.endswith("/rest-api.md#one-call-user_data")
    assert found["GET", "/fapi/v1/two"].link.endswith("#two")


@pytest.mark.parametrize("text", ["", "none", "0"])
def test_a_text_without_a_number_gives_no_weight(text: str) -> None:
    assert weights_in(text) == ({0} if text == "0" else set())


def test_an_endpoint_without_a_document_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binance_facts, "charged", lambda: {("GET", "/api/v3/secret"): {3}})

    assert page({}).endswith("| GET | `/api/v3/secret` | 3 | no document | |\n")


@pytest.mark.night
def test_every_call_of_ours_weighs_what_the_documents_say() -> None:
    rows = [match.groupdict() for match in ROW.finditer(PAGE.read_text("utf-8"))]
    told = {(row["method"], row["path"]): row for row in rows}

    assert told.keys() == charged().keys(), "run scripts/binance_facts.py"
    for key, weights in charged().items():
        row = told[key]
        assert row["charged"] == ", ".join(map(str, sorted(weights)))
        assert date.fromisoformat(row["date"]) >= date(2026, 6, 1), f"no document for {key}"
        if row["told"] != "not given":
            documented = {int(number) for number in row["told"].split(", ")}
            assert weights <= documented, f"{key} is charged {weights}, Binance says {documented}"
