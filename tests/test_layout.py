"""The layout keeps its rules, and whoever breaks one is told where the thing belongs."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import mcp_binance_server
from support.layout import Layout

ROOT = Path(__file__).parent.parent
PACKAGE = Path(mcp_binance_server.__file__).parent
PROJECT = ROOT / "pyproject.toml"

Plant = Callable[[Path], object]


def test_everything_stands_where_it_belongs() -> None:
    assert Layout.of(PACKAGE, PROJECT).breaches() == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return shutil.copytree(PACKAGE, tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))


def written(name: str, text: str) -> Plant:
    """Put a new file there, or add lines to one."""

    def plant(package: Path) -> None:
        path = package / name
        path.parent.mkdir(exist_ok=True)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(before + text, encoding="utf-8")

    return plant


def crowded(package: Path) -> None:
    (package / "trading" / "crowd").mkdir()
    for number in range(17):
        (package / "trading" / "crowd" / f"page_{number}.py").write_text(
            f'"""Page {number}."""\n' * 150, encoding="utf-8"
        )


@pytest.mark.parametrize(
    ("plant", "sentence"),
    [
        (
            written("services/market/service.py", "\nfrom mcp_binance_server.transports import stdio\n"),
            "services is below transports; what both need belongs below services",
        ),
        (
            written("feeds/tape.py", "\nfrom mcp_binance_server.guide.document import Document\n"),
            "feeds and guide are strangers; what both need belongs below them",
        ),
        (
            written("surface/views/market.py", "\nimport socket\n"),
            "it is pure; what reads, waits or logs belongs to a service",
        ),
        (
            written("surface/server.py", "\nfrom mcp_binance_server.surface.tools.flow import GET_ORDER_FLOW\n"),
            "a client is greeted first; that belongs behind the dispatcher",
        ),
        (
            written("charts/pictures.py", "\nclass Ticker:\n    pass\n"),
            "Ticker is a class of charts/pictures.py and of domain/market.py: one name belongs to one thing",
        ),
        (
            written("sessions/model.py", "\nclass SideDoor:\n    pass\n"),
            "sessions/model.py says door: transport is what others call it, and that word belongs here",
        ),
        (
            written("surface/tools/order_flow.py", '"""Flow again."""\n'),
            "that topic is called flow on every floor; it belongs to surface/tools/flow",
        ),
        (
            written("analytics/momentum/pace.py", '"""How fast."""\n'),
            "momentum is no topic; it belongs to one of market,",
        ),
        (crowded, "crowd has 17 files: a topic among them belongs in a folder of its own"),
        (
            written("trading/judgement/intent.py", "# one more\n" * 300),
            "what has a second reason to change belongs on its own page",
        ),
        (written("state/utils.py", '"""Odds and ends."""\n'), "it belongs to the page that uses it"),
        (written("sessions/silent.py", "SIZE = 1\n"), "its first line belongs to what lives here"),
        (written("domain/money.py", "\nHALF = 0.5\n"), "money is Decimal; a float belongs to analytics or above"),
    ],
)
def test_whoever_breaks_a_rule_is_told_where_it_belongs(plant: Plant, sentence: str, copy: Path) -> None:
    plant(copy)

    breaches = Layout.of(copy, PROJECT).breaches()

    assert len(breaches) == 1
    assert sentence in breaches[0]
