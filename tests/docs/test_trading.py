"""The pages about trading tell every limit with its default, every guard, and a file that can be used as it stands."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import mcp_binance_server.trading.judgement.charges
import mcp_binance_server.trading.judgement.guards
from mcp_binance_server.guide.config import CONTENT
from mcp_binance_server.trading.judgement.policy import Confirm, Policy, TradingLimits, read_policy
from support.pages import ROOT, blocks, name_of

HOW_TO = ROOT / "docs" / "how-to"
LIMITS = HOW_TO / "limits.md"
FILES = [
    pytest.param(block.text, id=f"{name_of(page)}:{block.line}")
    for page in (*sorted(HOW_TO.glob("*.md")), ROOT / "docs" / "hosting.md")
    for block in blocks(page, "toml")
]
ROWS = {
    name: cells
    for line in LIMITS.read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
    for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
    for name in re.findall(r"`(\w+)", cells[0])
}


@pytest.mark.parametrize("text", FILES)
def test_a_file_of_limits_can_be_used_as_it_stands(text: str) -> None:
    assert read_policy(text.encode()).digest != Policy().digest


def test_every_line_is_explained_and_the_example_has_every_limit() -> None:
    example, _ = blocks(LIMITS, "toml")

    for each in fields(TradingLimits):
        assert each.name in ROWS
        assert f"{each.name} = " in example.text
    for each in fields(Confirm):
        assert each.name in ROWS or f"`{each.name}`" in LIMITS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["orders_per_minute", "orders_per_day", "open_orders", "collar_percent", "slippage_bps", "cancel"]
)
def test_a_default_is_told_as_it_is(name: str) -> None:
    assert str(getattr(TradingLimits(), name)) in re.split(r"[ ,`]+", ROWS[name][2])


def test_what_has_no_default_is_told_to_be_without_limit() -> None:
    unlimited = [each.name for each in fields(TradingLimits) if getattr(TradingLimits(), each.name) is None]

    assert all(ROWS[name][2] in ("no limit", "every pair") for name in unlimited)


def test_the_playbook_of_a_denied_order_has_every_guard() -> None:
    modules = (mcp_binance_server.trading.judgement.guards, mcp_binance_server.trading.judgement.charges)
    source = "".join(Path(each.__file__ or "").read_text(encoding="utf-8") for each in modules)
    page = (CONTENT / "errors" / "order-denied.md").read_text(encoding="utf-8")
    told = {name for line in page.splitlines() if line.startswith("| ") for name in line.split("|")[1].split(", ")}

    guards = set(re.findall(r'(?:Denied|Charge)\(\s*"(\w+)"', source))

    assert len(guards) > 10
    assert guards <= {each.strip() for each in told}
