"""Brackets and replacing as their page tells it: its program on the demo, and its words against the product's."""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mcp_binance_server.guide.config import CONTENT
from mcp_binance_server.services.trading.planning import FLAGS
from mcp_binance_server.surface.tools.trading.preview import PREVIEW_TRADABLE_ORDER
from mcp_binance_server.trading.judgement.exits import SUFFIXES
from mcp_binance_server.trading.judgement.sizing import STOP_SLIPS
from support.pages import ROOT, blocks
from support.process import PATIENCE_SECS, clean_environment
from support.warm_command import warm_command

PAGE = ROOT / "docs" / "how-to" / "brackets.md"
PLAYBOOK = CONTENT / "trading" / "brackets.md"
TEXTS = [pytest.param(page.read_text(encoding="utf-8"), id=kind) for kind, page in (("page", PAGE), ("book", PLAYBOOK))]


@pytest.mark.night
@pytest.mark.flood
def test_the_program_buys_with_exits_pairs_cancels_and_replaces_on_the_demo() -> None:
    (program,) = blocks(PAGE, "python")

    with TemporaryDirectory() as folder, warm_command(Path(folder)) as warm:
        path = os.pathsep.join((str(warm), str(Path(sys.executable).parent), os.defpath))
        done = subprocess.run(
            [sys.executable, "-c", program.text], capture_output=True, text=True, timeout=PATIENCE_SECS, check=False,
            env=clean_environment({"PATH": path}),
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    bought, paired, cancelled, waiting, smaller, moved = done.stdout.splitlines()
    assert "is FILLED" in bought
    assert "NO exit in place" not in bought
    assert "is NEW" in paired
    assert "is cancelled: nothing was sold" in cancelled
    (old,) = re.findall(r"mbp-\w+", waiting)
    assert smaller == f"PAPER: order {old} reduced to 0.008 BTC."
    assert "is NEW" in moved
    assert old not in moved


@pytest.mark.parametrize("text", TEXTS)
def test_every_argument_flag_and_id_is_told(text: str) -> None:
    arguments = set(PREVIEW_TRADABLE_ORDER.arguments.model_fields)

    assert {"take_profit", "stop_loss", "replaces"} <= arguments
    assert [name for name in ("take_profit", "stop_loss", "stop_price", "replaces") if f"`{name}`" not in text] == []
    assert [flag for flag in FLAGS.values() if flag not in text] == []
    assert [suffix for suffix in SUFFIXES if suffix not in text] == []


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_shouted_is_told_as_it_is_said(text: str) -> None:
    assert "NO exit in place" in text
    assert "ORDER … WAS CANCELLED" in text


def test_the_limit_of_a_stop_is_told_as_it_is_made() -> None:
    words = {4: "four"}

    assert f"{words[STOP_SLIPS]} times your `slippage_bps`" in PAGE.read_text(encoding="utf-8").replace("\n", " ")
