"""Examples on the pages are true: programs run, configurations can be used, the sample page is what is made today."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from mcp import Client

from support.pages import PAGES, ROOT, blocks, name_of
from support.process import PATIENCE_SECS, clean_environment
from support.stepped import live_market
from support.warm_command import warm_command

UPDATES = ROOT / "docs" / "how-to" / "updates.md"
SAMPLE = ROOT / "docs" / "examples" / "order-flow.md"
CONFIGURATIONS = [
    pytest.param(block.text, id=f"{name_of(page)}:{block.line}") for page in PAGES for block in blocks(page, "json")
]


@pytest.mark.night
@pytest.mark.flood
@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "quickstart.md"], ids=name_of)
def test_the_program_on_the_page_prints_a_market(page: Path) -> None:
    said = run(page, Path(sys.executable).parent)

    assert said.startswith("# BTCUSDT Market Data\n")
    assert "simulated exchange, no real market" in said


@pytest.mark.night
@pytest.mark.flood
def test_the_program_that_listens_is_told_three_times_and_reads_the_page() -> None:
    with TemporaryDirectory() as folder, warm_command(Path(folder)) as warm:
        said = run(UPDATES, warm).splitlines()

    assert said[:3] == ["ResourceUpdated(uri='binance://market/btcusdt')"] * 3
    assert said[3] == "# BTCUSDT Market Data"


def run(page: Path, installed: Path) -> str:
    """Run the program of a page with our command from this folder."""
    (example,) = blocks(page, "python")
    path = f"{installed}{os.pathsep}{os.defpath}"

    done = subprocess.run(
        [sys.executable, "-c", example.text], capture_output=True, text=True, timeout=PATIENCE_SECS, check=True,
        env=clean_environment({"PATH": path}),
    )  # fmt: skip
    return done.stdout


@pytest.mark.night
@pytest.mark.flood
async def test_the_page_of_order_flow_is_made_again_character_by_character() -> None:
    async with live_market("one_sided") as market:
        await market.watch("BTCUSDT", 3)
        await market.run(60)
        page = await market.page("order_flow_trading", symbol="BTCUSDT", window_minutes="1")

    (shown,) = blocks(SAMPLE, "markdown")
    assert shown.text == f"{page}\n"


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_a_configuration_can_be_pasted(text: str) -> None:
    assert isinstance(json.loads(text), dict)


async def test_the_chart_on_its_page_is_valid(client: Client) -> None:
    (config,) = blocks(ROOT / "docs" / "how-to" / "chart.md", "json")

    result = await client.call_tool("validate_chart_config", {"config": json.loads(config.text)})

    assert result.structured_content is not None
    assert result.structured_content["valid"] is True
