"""Compare the requirements with the tests that name them, by reading the tests' source.

Reading, not collecting: the answer is the same for one test file as for the whole suite.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from requirements.record import Requirement


@dataclass(frozen=True, slots=True)
class Naming:
    """One place where a test names a requirement."""

    id: str
    place: str


@dataclass(frozen=True, slots=True)
class Audit:
    """What is wrong, one line per fault; all empty means that tables and tests agree."""

    duplicated: tuple[str, ...]
    unknown: tuple[str, ...]
    unproven: tuple[str, ...]
    premature: tuple[str, ...]
    unreadable: tuple[str, ...]


def audit(requirements: Sequence[Requirement], *folders: Path) -> Audit:
    """Hold the requirements and the tests below some folders against each other."""
    namings, unreadable = read_namings(*folders)
    states = {requirement.id: requirement.state for requirement in requirements}
    named = {naming.id for naming in namings}
    repeats = Counter(requirement.id for requirement in requirements)
    return Audit(
        duplicated=tuple(name for name, times in repeats.items() if times > 1),
        unknown=tuple(f"{naming.id}  ({naming.place})" for naming in namings if naming.id not in states),
        unproven=tuple(name for name, state in states.items() if state == "covered" and name not in named),
        premature=tuple(f"{naming.id}  ({naming.place})" for naming in namings if states.get(naming.id) == "planned"),
        unreadable=unreadable,
    )


def tally(requirements: Iterable[Requirement]) -> str:
    """Count the requirements by document and state, as a small table."""
    counts = Counter((requirement.document, requirement.state) for requirement in requirements)
    documents = dict.fromkeys(document for document, _ in counts)
    rows = [(document, counts[document, "covered"], counts[document, "planned"]) for document in documents]
    total = ("together", sum(row[1] for row in rows), sum(row[2] for row in rows))
    lines = [f"{name:<12}{done:>8}{open_:>8}" for name, done, open_ in (*rows, total)]
    return "\n".join((f"{'document':<12}{'covered':>8}{'planned':>8}", *lines))


def read_namings(*folders: Path) -> tuple[tuple[Naming, ...], tuple[str, ...]]:
    """Find every requirement that a test names, and every naming that cannot be read or is on no test."""
    namings: list[Naming] = []
    unreadable: list[str] = []
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for owner, call in _marks(tree):
            place = f"{_shown(path, folders)}:{call.lineno}"
            ids = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            if not _is_test(path, owner):
                unreadable.append(f"{place}: {owner} is not a test")
            elif call.keywords or not ids or len(ids) < len(call.args):
                unreadable.append(f"{place}: ids are literal strings, at least one")
            else:
                namings.extend(Naming(name, place) for name in ids)
    return tuple(namings), tuple(unreadable)


def _shown(path: Path, folders: Sequence[Path]) -> str:
    return next(path.relative_to(each).as_posix() for each in folders if path.is_relative_to(each))


def _marks(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    seen: set[ast.Call] = set()
    for node in ast.walk(tree):
        for owner, expression in _places(node):
            for call in _requirement_calls(expression):
                if call not in seen:
                    seen.add(call)
                    yield owner, call


def _places(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield from ((node.name, decorator) for decorator in node.decorator_list)
        case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
            yield "pytestmark", value
        case ast.keyword(arg="marks", value=value):
            yield "marks", value
        case _:
            pass


def _requirement_calls(expression: ast.expr) -> Iterator[ast.Call]:
    for node in ast.walk(expression):
        match node:
            case ast.Call(func=ast.Name(id="requirement") | ast.Attribute(attr="requirement")):
                yield node
            case _:
                pass


def _is_test(path: Path, owner: str) -> bool:
    return path.name.startswith("test_") and owner.startswith(("test_", "Test", "pytestmark", "marks"))
