"""Build the page of the live chart from these sources: python web/build.py OUT.

Exactly the locked packages, none of their scripts, from wherever npm is set up to get them. Nothing is written here.
"""

import filecmp
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
INSTALL = (
    "ci",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    "--fetch-retries=1",
    "--loglevel=error",
)
INSTALL_SECS, BUILD_SECS = 300, 60
# The licence that is shipped with the page, and where its package has it.
LICENCE, ITS_ORIGIN = "LICENSE-lightweight-charts.txt", "node_modules/lightweight-charts/LICENSE"


class PageNotBuilt(Exception):
    """There is no page; the message says why."""


def build_page(out: Path) -> None:
    """Write the page to a file.

    Raises:
        PageNotBuilt: Node is missing, its packages cannot be had, or the sources are wrong.
    """
    npm, node = _program("npm"), _program("node")
    with TemporaryDirectory(prefix="chart-page-") as place:
        web = Path(shutil.copytree(HERE, Path(place) / "web", ignore=shutil.ignore_patterns("node_modules", "*.pyc")))
        _run([npm, *INSTALL], web, INSTALL_SECS)
        if not filecmp.cmp(web / LICENCE, web / ITS_ORIGIN, shallow=False):
            raise PageNotBuilt(f"web/{LICENCE} is not the licence of the locked package")
        _run([node, "build.mjs", str(out.resolve())], web, BUILD_SECS)


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise PageNotBuilt(f"{name} is not installed")
    return found


def _run(command: list[str], folder: Path, secs: int) -> None:
    said = " ".join([Path(command[0]).stem, command[1]])
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=secs, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise PageNotBuilt(f"{said}: {problem}") from None
    if done.returncode:
        raise PageNotBuilt(f"{said} failed: {' '.join((done.stderr or done.stdout).split())[:120]}")


if __name__ == "__main__":
    try:
        build_page(Path(sys.argv[1]))
    except IndexError:
        sys.exit("usage: python web/build.py OUT")
    except PageNotBuilt as reason:
        sys.exit(f"no page: {reason}")
