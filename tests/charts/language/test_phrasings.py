"""The shared phrasings, each exactly: symbol, interval, range, studies with inputs, looks, drawings, warnings."""

from typing import Any

import pytest

from charts.configs import CATALOGUE
from charts.language.talk import codes, said, shared_phrasings
from mcp_binance_server.charts.dialect.drawings import drawing_named
from mcp_binance_server.errors import InvalidArguments
from support.requirement import requirement

ROWS = shared_phrasings()
# Phrasings that are read otherwise by now, by id, with what they mean instead; at most three in a hundred.
READ_OTHERWISE: dict[int, dict[str, Any]] = {
    # Volume is shown by itself: who does not want it must be able to say so.
    105: {"expect": {"override": {"showVolume": False}}},
    # Pairs of Binance are compared in one chart.
    124: {"expect": {"compare": ["BINANCE:ETHUSDT"]}, "warnings": []},
    # German is understood.
    195: {"expect": {"interval": "4h", "intervalExplicit": True}, "warnings": []},
    # Two prices are enough for a retracement.
    244: {
        "expect": {"drawings": [{"name": "Fib Retracement", "input": {"start": 60000, "end": 80000}}]},
        "warnings": [],
    },
}
USUAL = {"theme": "dark", "width": 1200, "height": 675}
POSITION = {"entry": "entryPrice", "target": "targetPrice", "stop": "stopPrice"}


def understood(text: str) -> tuple[dict[str, Any], set[str]]:
    """Return a construction in the shape of the shared expectations."""
    made = said(text)
    config: dict[str, Any] = {"range": None, **made.config}
    studies = [
        {
            "name": getattr(CATALOGUE.indicator(study["name"]), "api_name", None),
            "input": study.get("inputs", {}),
            **({"override": study["override"]} if "override" in study else {}),
        }
        for study in config.get("studies", ())
    ]
    drawings = [
        {
            "name": getattr(drawing_named(drawing["type"], CATALOGUE), "api_name", None),
            "input": {POSITION.get(key, key): value for key, value in drawing["coordinates"].items()},
        }
        for drawing in config.get("drawings", ())
    ]
    shape = {**config, "intervalExplicit": made.interval_explicit, "studies": studies}
    if drawings:
        shape["drawings"] = drawings
    if len(made.symbols) > 1:
        shape["symbols"] = list(made.symbols)
    warned = {f"{code}:PRO" if code == "plan_limit" else code for code in codes(made)}
    return shape, warned


@requirement("charts/construct_chart_config/checked")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))
def test_a_shared_phrasing_becomes_exactly_the_chart_it_means(row: dict[str, Any]) -> None:
    if otherwise := READ_OTHERWISE.get(row["id"]):
        row = {**row, **otherwise, "expect": {**row["expect"], **otherwise["expect"]}}
    if row["expect"] is None:
        with pytest.raises(InvalidArguments, match=f"^{row['error']}: "):
            said(row["text"])
        return

    shape, warned = understood(row["text"])

    expected = {**USUAL, **{key: value for key, value in row["expect"].items() if (key, value) != ("theme", None)}}
    assert shape == expected
    assert warned == set(row["warnings"])


def test_hardly_any_phrasing_is_read_otherwise() -> None:
    assert len(READ_OTHERWISE) <= len(ROWS) * 0.03
