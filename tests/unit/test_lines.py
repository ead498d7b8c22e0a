"""Counting by marks finds what tracing finds: the same lines, and the same ways at every branch."""

from pathlib import Path

import pytest
from coverage import Coverage

from support.lines.probes import SEEN, marked
from support.lines.run import arcs_of

SAMPLE = '''"""A sample of everything that has a line or a way of its own."""

from __future__ import annotations

import contextlib
from functools import cache


@cache
def many(
    number: int,
) -> str:
    """Say how many."""
    if number > 1:
        return "many"
    elif number == 1:
        return "one"
    return "none"


class Kind:
    """A class, with a body that runs."""

    name: str = "kind"
    if name == "other":
        alias = 1


def shape(value: object) -> str:
    match value:
        case 0 | 1:
            return "bit"
        case int() if value > 100:
            return "large"
        case [first, *_]:
            found = str(first)
        case {"a": 1}:
            return "map"
    return found if isinstance(value, list) else "else"


def tried(text: str) -> int:
    try:
        number = int(text)
    except (KeyError, TypeError):
        return -2
    except ValueError:
        return -1
    else:
        number += 1
    finally:
        text = ""
    return number


def looped(numbers: list[int]) -> int:
    total = 0
    for number in numbers:
        if number < 0:
            continue
        if number > 10:
            break
        total += number
    else:
        total += 100
    while total > 1_000:
        total -= 1_000
    with contextlib.suppress(ZeroDivisionError):
        total //= len(numbers)
    return total
'''
CALLS = {
    "nothing": "",
    "a few ways": "many(0)\nshape(0)\nshape([1])\ntried('1')\nlooped([1, -1])",
    "other ways": "many(1)\nmany(2)\nshape(101)\nshape('x')\ntried('x')\ntried(None)\nlooped([11])\nlooped([2_000])",
    "the end of a loop": "looped([])\nlooped([9] * 9)",
}


@pytest.mark.slow
@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
def test_marks_find_the_lines_and_branches_that_tracing_finds(calls: str, tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(SAMPLE + calls + "\n")

    assert _by_marks(path) == _by_tracing(path)


def _by_tracing(path: Path) -> "Found":
    coverage = Coverage(data_file=None, branch=True, include=[str(path)], config_file=False)
    code = compile(path.read_bytes(), str(path), "exec")
    with coverage.collect():
        exec(code, {"__name__": "sample"})  # noqa: S102 - the sample above
    return _found(coverage, path)


def _by_marks(path: Path) -> "Found":
    tree, marks = marked(path.read_bytes(), 0)
    seen = bytearray(len(marks))
    exec(compile(tree, str(path), "exec"), {"__name__": "sample", SEEN: seen})  # noqa: S102 - likewise
    coverage = Coverage(data_file=None, branch=True, include=[str(path)], config_file=False)
    arcs = arcs_of([mark for mark, is_seen in zip(marks, seen, strict=True) if is_seen], marks, path)
    coverage.get_data().add_arcs({str(path): arcs})
    return _found(coverage, path)


def _found(coverage: Coverage, path: Path) -> "Found":
    _, _, _, missing, told = coverage.analysis2(str(path))
    return missing, told, coverage.branch_stats(str(path))


Found = tuple[list[int], str, dict[int, tuple[int, int]]]
