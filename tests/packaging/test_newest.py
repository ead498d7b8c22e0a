"""The script that moves pins and bounds to the newest releases, as far as it needs no network."""

import runpy
import tomllib
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "newest.py"), run_name="newest")
without_bounds: Callable[[str], str] = SCRIPT["without_bounds"]
with_bounds: Callable[[str, dict[str, str]], str] = SCRIPT["with_bounds"]
pins: Callable[[str], dict[str, str]] = SCRIPT["pins"]


def bounds(project: str) -> dict[str, str]:
    said = tomllib.loads(project)["project"]
    lines: list[str] = [*said["dependencies"], *chain(*said["optional-dependencies"].values())]
    upper = {
        each.name: [part.version for part in each.specifier if part.operator == "<"] for each in map(Requirement, lines)
    }
    return {name: found[0] for name, found in upper.items() if found}


def test_every_bound_is_lifted_and_nothing_else_is_touched() -> None:
    lifted = without_bounds(PROJECT)

    assert set(bounds(PROJECT)) == {"h11", "mcp", "redis", "uvicorn"}
    assert bounds(lifted) == {}
    assert len(lifted.splitlines()) == len(PROJECT.splitlines())


def test_bounds_are_set_just_above_what_was_found() -> None:
    found = {"h11": "0.16.0", "mcp": "3.0.1", "redis": "8.9.2", "uvicorn": "0.61.0"}

    moved = with_bounds(PROJECT, found)

    assert bounds(moved) == {"h11": "0.17", "mcp": "3.1", "redis": "8.10", "uvicorn": "0.62"}
    assert "redis[hiredis]>=8.1,<8.10" in moved


def test_bounds_above_what_is_pinned_now_are_those_of_the_project() -> None:
    now = pins((ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8"))

    assert with_bounds(PROJECT, now) == PROJECT
