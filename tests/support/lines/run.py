"""Count lines and branches without tracing: `prepare FOLDER` before the tests, `report FOLDER` behind them.

What was seen goes into a data file of coverage, which knows what there was to see, what does not count, and the bar.
"""

import json
import marshal
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from shutil import copyfile

from coverage import CoverageData
from coverage.parser import PythonParser

from support.lines.loader import PACKAGES
from support.lines.probes import Mark, marked

Arc = tuple[int, int]
ENTRY = -1
HOOK = "import os; os.environ.get('MCP_TEST_LINES') and __import__('count_lines').install()\n"


def sources() -> Iterator[tuple[str, Path]]:
    """Yield the modules of the installed packages, by name."""
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*.py")):
            if not path.name.endswith("_pb2.py"):
                parts = path.relative_to(root.parent).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def prepare(folder: Path) -> None:
    """Write every module with its marks, a file for what will be seen, and the hook of this environment."""
    base = 0
    layout: dict[str, list[Mark]] = {}
    for name, path in sources():
        tree, marks = marked(path.read_bytes(), base)
        (folder / f"{name}.code").write_bytes(marshal.dumps(compile(tree, str(path), "exec")))
        layout[str(path)] = marks
        base += len(marks)
    (folder / "layout.json").write_text(json.dumps(layout))
    (folder / "seen").write_bytes(bytes(base))
    environment = Path(sysconfig.get_path("purelib"))
    copyfile(Path(__file__).with_name("loader.py"), environment / "count_lines.py")
    (environment / "count_lines.pth").write_text(HOOK)


def report(folder: Path) -> None:
    """Write what was seen as coverage would have."""
    seen = iter((folder / "seen").read_bytes())
    data = CoverageData(os.environ.get("COVERAGE_FILE"), suffix=True)  # noqa: TID251 - likewise
    for path, told in json.loads((folder / "layout.json").read_text()).items():
        marks = [Mark(*each) for each in told]
        data.add_arcs({path: arcs_of([mark for mark in marks if next(seen)], marks, Path(path))})
        data.touch_file(path)
    data.write()


def arcs_of(seen: list[Mark], marks: list[Mark], path: Path) -> set[Arc]:
    """Return the arcs that coverage would have traced, as far as it looks at them."""
    parser = PythonParser(filename=str(path))
    parser.parse_source()
    exits: dict[int, set[int]] = {}
    for start, end in parser.arcs():
        exits.setdefault(start, set()).add(end)
    lines, arcs = {mark.line for mark in seen if mark.kind == "line"}, set[Arc]()
    for mark in seen:
        if mark.kind in {"into", "past"}:
            line = parser.first_line(mark.line)
            body = {end for end in exits.get(line, ()) if mark.first <= end <= mark.last}
            arcs |= {(line, end) for end in (body if mark.kind == "into" else exits.get(line, set()) - body)}
    for line, taken in _cases(seen, marks, exits):
        lines.add(line)
        arcs |= taken
    decided = {parser.first_line(mark.line) for mark in marks if mark.kind != "line"}
    lines = {parser.first_line(line) for line in lines}
    for line in lines - decided:
        # The end of a block with a `finally` or a `with`: it went wherever somebody arrived.
        arcs |= {(line, end) for end in exits.get(line, ()) if end < 0 or end in lines}
    return {*arcs, *((ENTRY, line) for line in lines)}


def _cases(seen: list[Mark], marks: list[Mark], exits: dict[int, set[int]]) -> Iterable[tuple[int, set[Arc]]]:
    """Return the lines of cases that were tried, and where they led: a case is tried if it or a later one was taken."""
    entered = {mark for mark in seen if mark.kind == "case"}
    ordered = sorted((mark for mark in marks if mark.kind == "case"), key=lambda mark: (mark.first, not mark.line))
    for _, group in groupby(ordered, key=lambda mark: mark.first):
        cases = [*group]
        for place, case in enumerate(cases):
            if not any(each in entered for each in cases[place:]) or not case.line:
                continue
            ends = {case.last} if case in entered else set[int]()
            if any(each in entered for each in cases[place + 1 :]):
                ends |= exits.get(case.line, set()) - {case.last}
            yield case.line, {(case.line, end) for end in ends}


if __name__ == "__main__":
    {"prepare": prepare, "report": report}[sys.argv[1]](Path(sys.argv[2]))
