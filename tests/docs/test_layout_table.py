"""What the documents say about the layout is so."""

import re
from pathlib import Path

import binance_simulator
import mcp_binance_server
from support.pages import ROOT

PACKAGE = Path(mcp_binance_server.__file__).parent
SIMULATOR = Path(binance_simulator.__file__).parent


def rows(page: str, head: str) -> list[list[str]]:
    text = (ROOT / page).read_text(encoding="utf-8").split(f"\n{head}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def named(cell: str) -> list[str]:
    return re.findall(r"`([\w./-]+)`", cell)


def test_the_table_of_packages_names_every_one_and_where_each_begins() -> None:
    table = rows("docs/design/architecture.md", "## Where things are")
    packages = {name for row in table for name in named(row[0])}

    below = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()} | {SIMULATOR.name}
    assert {name for name in packages if not name.endswith(".py")} == below
    for row in table:
        folder = PACKAGE / named(row[0])[0] if not named(row[0])[0].endswith(".py") else PACKAGE
        folder = {"telemetry": PACKAGE, SIMULATOR.name: SIMULATOR}.get(named(row[0])[0], folder)
        for name in named(row[3]):
            assert (folder / name).is_file(), f"{row[0]}: {name}"


def test_a_newcomer_finds_one_place_for_each_thing() -> None:
    table = rows("CONTRIBUTING.md", "## Where it goes")

    assert len(table) >= 7
    for row in table:
        place = named(row[1])[0]
        assert (ROOT / place).exists() or (PACKAGE / place.removeprefix("src/mcp_binance_server/")).exists(), row[0]
