"""The site builds without a warning and asks nobody but its own server for anything."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.pages import ROOT

WITHOUT_TOOLS = "MkDocs is not installed here: requirements/docs.txt has it"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if built := os.environ.get("MCP_TEST_SITE"):  # noqa: TID251 - CI builds it beside the tests
        return Path(built)
    if find_spec("material") is None:
        pytest.skip(WITHOUT_TOOLS)
    folder = tmp_path_factory.mktemp("site")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # noqa: TID251 - the script needs bash
    done = subprocess.run(
        [ROOT / "scripts" / "docs", folder], capture_output=True, text=True, timeout=100, check=False,
        env={"PATH": path},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_it_builds_without_a_warning(site: Path) -> None:
    sources = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]

    assert [name for name in sources if not (site / name).is_file()] == []


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", page.read_text(encoding="utf-8")):
            if 'rel="canonical"' not in tag:
                assert not re.search(r"""(?:src|href)="?(?:https?:)?//""", tag), f"{page.name}: {tag}"
