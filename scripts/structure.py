#!/usr/bin/env python3
"""Measure the structure of a Python tree: size, single-use functions, small records, modules with one importer.

scripts/structure.py                     the product
scripts/structure.py PATH...             other packages
scripts/structure.py --list NAME         the members of one row: functions, records, modules
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ROOT / "src" / "mcp_binance_server"
# A record with at most this many fields and no method.
SMALL_RECORD_FIELDS = 2
RECORD_MAKERS = frozenset({"dataclass", "NamedTuple", "Struct", "TypedDict"})


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed file with its dotted name."""

    name: str
    path: Path
    lines: int
    tree: ast.Module


@dataclass(slots=True)
class Structure:
    """Measurements of a source tree. Each list holds definitions as `file:line name`."""

    files: int = 0
    lines: int = 0
    classes: int = 0
    functions: int = 0
    single_use: list[str] = field(default_factory=list[str])
    single_use_lines: int = 0
    small_records: list[str] = field(default_factory=list[str])
    one_importer: list[str] = field(default_factory=list[str])
    one_importer_same_folder: list[str] = field(default_factory=list[str])


def modules(root: Path) -> Iterator[Module]:
    package_parent = root.parent
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(package_parent).with_suffix("")
        parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
        source = path.read_text()
        yield Module(".".join(parts), path, len(source.splitlines()), ast.parse(source))


def uses(tree: ast.Module) -> Counter[str]:
    """Count the reads of each name and attribute."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found[node.id] += 1
        elif isinstance(node, ast.Attribute):
            found[node.attr] += 1
    return found


def is_small_record(node: ast.ClassDef) -> bool:
    makers = {name for each in (*node.decorator_list, *node.bases) if (name := called(each)) is not None}
    fields = sum(isinstance(each, ast.AnnAssign) for each in node.body)
    has_method = any(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in node.body)
    return bool(makers & RECORD_MAKERS) and 0 < fields <= SMALL_RECORD_FIELDS and not has_method


def called(node: ast.expr) -> str | None:
    """Return the last part of a name, an attribute or a call's function."""
    if isinstance(node, ast.Call):
        return called(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def imported(module: Module, names: frozenset[str]) -> frozenset[str]:
    """Return the modules of the tree that a module imports."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                found.add(inner if inner in names else node.module)
    return frozenset(found & names) - {module.name}


def measure(root: Path) -> Structure:
    found = Structure()
    tree = list(modules(root))
    names = frozenset(each.name for each in tree)
    importers: defaultdict[str, list[Module]] = defaultdict(list)
    for module in tree:
        found.files += 1
        found.lines += module.lines
        measure_definitions(module, found)
        for name in imported(module, names):
            importers[name].append(module)
    for module in tree:
        users = importers[module.name]
        if len(users) == 1 and module.path.name != "__init__.py":
            found.one_importer.append(f"{module.path} <- {users[0].path.name}")
            if users[0].path.parent == module.path.parent:
                found.one_importer_same_folder.append(found.one_importer[-1])
    return found


def measure_definitions(module: Module, found: Structure) -> None:
    used = uses(module.tree)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            found.classes += 1
            if is_small_record(node):
                found.small_records.append(f"{module.path}:{node.lineno} {node.name}")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions += 1
            private = node.name.startswith("_") and not node.name.startswith("__")
            if private and used[node.name] == 1:
                found.single_use.append(f"{module.path}:{node.lineno} {node.name}")
                found.single_use_lines += (node.end_lineno or node.lineno) - node.lineno + 1


def rows(found: Structure) -> Iterator[tuple[str, str]]:
    yield "lines", f"{found.lines:,}"
    yield "files", f"{found.files:,}"
    yield "classes", f"{found.classes:,}"
    yield "functions", f"{found.functions:,}"
    yield "private functions with one use", f"{len(found.single_use):,} ({found.single_use_lines:,} lines)"
    yield f"records of at most {SMALL_RECORD_FIELDS} fields, no method", f"{len(found.small_records):,}"
    yield "modules with one importer", f"{len(found.one_importer):,}"
    yield "modules with one importer in the same folder", f"{len(found.one_importer_same_folder):,}"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--list"]:
        found = measure(PRODUCT)
        lists = {
            "functions": found.single_use,
            "records": found.small_records,
            "modules": found.one_importer_same_folder,
        }
        print(*lists[arguments[1]], sep="\n")
        return 0
    for root in [Path(each) for each in arguments] or [PRODUCT]:
        print(f"\n{root.name}")
        for name, value in rows(measure(root)):
            print(f"  {name:<46} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
