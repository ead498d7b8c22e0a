"""The documentation as a site: the one that CI has built, or one that is built here."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.pages import ROOT

WITHOUT_TOOLS = "MkDocs is not installed here: requirements/docs.txt has it"


def built_site(temporary: pytest.TempPathFactory) -> Path:
    """Return the folder of the site; skip the test if it cannot be built here."""
    if built := os.environ.get("MCP_TEST_SITE"):  # noqa: TID251 - CI builds it beside the tests
        return Path(built)
    if find_spec("material") is None:
        pytest.skip(WITHOUT_TOOLS)
    folder = temporary.mktemp("site")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # noqa: TID251 - the script needs bash
    done = subprocess.run(
        [ROOT / "scripts" / "docs", folder], capture_output=True, text=True, timeout=100, check=False,
        env={"PATH": path},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return folder
