"""Upgrade the pinned versions of all dependencies, and on request the upper bounds in pyproject.toml.

    python scripts/newest.py within   pins only: the newest versions within the bounds
    python scripts/newest.py beyond   also bounds: each is removed, then set just above the version found

Only packages whose internals we use have such a bound. Prints the upgrades. Run the whole CI before you commit them.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "pyproject.toml"
PINS = ROOT / "requirements" / "dev.txt"

# A requirement with an upper bound at a minor version. Packages whose internals we use have this form.
BOUND = re.compile(r'"(?P<name>[A-Za-z0-9-]+)(?P<extras>\[\w+\])?(?P<floor>>=[\d.]+),<\d+\.\d+"')
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


def without_bounds(project: str) -> str:
    """Return the project file without the upper bounds."""
    return BOUND.sub(r'"\g<name>\g<extras>\g<floor>"', project)


def with_bounds(project: str, found: dict[str, str]) -> str:
    """Return the project file with each upper bound just above the installed minor version."""

    def above(match: re.Match[str]) -> str:
        major, minor = found[match["name"].lower()].split(".")[:2]
        return f'"{match["name"]}{match["extras"] or ""}{match["floor"]},<{major}.{int(minor) + 1}"'

    return BOUND.sub(above, project)


def pins(requirements: str) -> dict[str, str]:
    """Return the pinned version of each package."""
    return {name.lower(): version for name, version in PIN.findall(requirements)}


def compile_newest() -> None:
    """Compile all requirements files again, without the current pins."""
    subprocess.run([ROOT / "scripts" / "requirements", "--upgrade"], check=True)  # noqa: S603 - ours


def main(bounds: str) -> None:
    """Upgrade the pins, and with `beyond` also the upper bounds."""
    project, before = PROJECT.read_text(encoding="utf-8"), pins(PINS.read_text(encoding="utf-8"))
    if bounds == "beyond":
        PROJECT.write_text(without_bounds(project), encoding="utf-8")
    compile_newest()
    after = pins(PINS.read_text(encoding="utf-8"))
    if bounds == "beyond":
        PROJECT.write_text(with_bounds(project, after), encoding="utf-8")
    moved = [
        f"{name} {before.get(name, '-')} -> {after[name]}" for name in sorted(after) if before.get(name) != after[name]
    ]
    print("\n".join(moved) or "nothing newer")


if __name__ == "__main__":
    if sys.argv[1:] not in (["within"], ["beyond"]):
        sys.exit("usage: python scripts/newest.py within|beyond")
    main(sys.argv[1])
