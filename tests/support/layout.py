"""Rules of the layout, each with the sentence that says where a thing belongs which breaks it."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from statistics import median
from typing import Any

NAME = "mcp_binance_server"
FLOORS = ("analytics", "services", "surface/tools", "surface/views")
TOPICS = ("market", "book", "flow", "liquidity", "trend", "portfolio", "orders", "charts", "guide")
BESIDE_TOPICS = ("live", "account", "analysis", "indicators", "trading", "futures", "derivatives", "spot")
OTHER_NAMES = {
    "order_book": "book", "order_books": "book", "orderbook": "book", "order_flow": "flow", "tape": "flow",
    "depth": "liquidity", "outlook": "trend", "trading_analysis": "trend", "balances": "portfolio",
    "order": "orders", "chart": "charts", "charting": "charts", "guides": "guide", "playbooks": "guide",
}  # fmt: skip
# What we once called things, and what everybody else calls them.
FIELDS_WORDS = {
    "agenda": "deadlines", "crew": "workers", "door": "transport", "farewell": "cleanup", "lobby": "open calls",
    "manners": "verbosity", "seat": "worker slot", "switchboard": "sessions",
}  # fmt: skip
OUR_WORD = re.compile(rf"(?i)(?<![a-z])({'|'.join(FIELDS_WORDS)})s?(?![a-z])")
HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
NOBODY_LEARNS_FROM = ("util", "utils", "helper", "helpers", "manager", "common", "misc", "base")
MOST_LINES, MOST_FILES, MEDIAN_LINES = 400, 16, (110, 180)
# Loaded only after a client was greeted.
LATE = ("surface.tools", "surface.catalogue", "surface.dispatch", "services", "app")


@dataclass(frozen=True)
class Layout:
    """The package as a tree of files."""

    package: Path
    contracts: Sequence[dict[str, Any]]

    @classmethod
    def of(cls, package: Path, project: Path) -> "Layout":
        configured = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
        return cls(package, configured)

    @cached_property
    def texts(self) -> dict[str, str]:
        found = sorted(self.package.rglob("*.py"))
        return {path.relative_to(self.package).as_posix(): path.read_text(encoding="utf-8") for path in found}

    @property
    def sizes(self) -> list[int]:
        """Lines of every page that somebody wrote."""
        return [
            len(text.splitlines()) for name, text in self.texts.items() if not name.endswith(("__init__.py", "_pb2.py"))
        ]

    def breaches(self) -> list[str]:
        """Return a sentence for whatever stands where it should not."""
        rules = (
            self._pages, self._folders, self._topics, self._names, self._words,
            self._money, self._imports, self._greeting,
        )  # fmt: skip
        return [sentence for rule in rules for sentence in rule()]

    def _pages(self) -> Iterator[str]:
        for name, text in self.texts.items():
            if len(text.splitlines()) >= MOST_LINES:
                yield f"{name} is too long: what has a second reason to change belongs on its own page"
            if not re.match(r'(#.*\n)*"""', text):
                yield f"{name} says nothing of itself: its first line belongs to what lives here"
            if Path(name).stem in NOBODY_LEARNS_FROM:
                yield f"{name}: nobody learns from that name; it belongs to the page that uses it"
        if not MEDIAN_LINES[0] <= median(self.sizes) <= MEDIAN_LINES[1]:
            yield f"the median page has {median(self.sizes)} lines: paragraphs belong on a page, chapters on several"

    def _folders(self) -> Iterator[str]:
        held: dict[str, int] = defaultdict(int)
        for name in self.texts:
            held[Path(name).parent.as_posix()] += 1
        for folder, count in held.items():
            if count > MOST_FILES:
                yield f"{folder} has {count} files: a topic among them belongs in a folder of its own"

    def _topics(self) -> Iterator[str]:
        for floor in FLOORS:
            for name in self.texts:
                parts = Path(name).relative_to(floor).parts if name.startswith(f"{floor}/") else ()
                if len(parts) > 1 and parts[0] not in (*TOPICS, *BESIDE_TOPICS):
                    yield f"{name}: {parts[0]} is no topic; it belongs to one of {', '.join(TOPICS)}"
                if right := OTHER_NAMES.get(parts[0].removesuffix(".py") if parts else ""):
                    yield f"{name}: that topic is called {right} on every floor; it belongs to {floor}/{right}"

    def _names(self) -> Iterator[str]:
        places: dict[str, list[str]] = defaultdict(list)
        for name, text in self.texts.items():
            if not name.startswith("simulator/") and "_pb2" not in name:
                for each in _written(text).classes:
                    places[each].append(name)
        for each, found in places.items():
            if len(found) > 1:
                yield f"{each} is a class of {' and of '.join(found)}: one name belongs to one thing"

    def _words(self) -> Iterator[str]:
        for name, text in self.texts.items():
            for word in _written(text).our_words:
                yield f"{name} says {word}: {FIELDS_WORDS[word]} is what others call it, and that word belongs here"

    def _money(self) -> Iterator[str]:
        for name, text in self.texts.items():
            if name.startswith("domain/") and _written(text).has_float:
                yield f"{name} has a float: money is Decimal; a float belongs to analytics or above"

    def _imports(self) -> Iterator[str]:
        layers = next(each for each in self.contracts if each["name"] == "Dependencies point down")["layers"]
        ranks = {part.strip(): rank for rank, layer in enumerate(layers) for part in layer.split("|")}
        pure = next(each for each in self.contracts if each["name"].startswith("Domain, analytics"))
        for name, text in self.texts.items():
            own = name.removesuffix(".py").split("/")[0]
            for imported in _written(text).imports:
                top = imported.removeprefix(f"{NAME}.").split(".")[0]
                if imported.startswith(f"{NAME}.") and own in ranks and top in ranks and top != own:
                    if ranks[top] < ranks[own]:
                        yield f"{name} imports {imported}: {own} is below {top}; what both need belongs below {own}"
                    elif ranks[top] == ranks[own]:
                        strangers = f"{own} and {top} are strangers; what both need belongs below them"
                        yield f"{name} imports {imported}: {strangers}"
                if _is_of(name, pure["source_modules"]) and imported.split(".")[0] in pure["forbidden_modules"]:
                    yield f"{name} imports {imported}: it is pure; what reads, waits or logs belongs to a service"

    def _greeting(self) -> Iterator[str]:
        for node in ast.parse(self.texts["surface/server.py"]).body:
            for imported in _written(ast.unparse(node)).imports if not isinstance(node, ast.If) else ():
                if imported.removeprefix(f"{NAME}.").startswith(LATE):
                    first = "a client is greeted first; that belongs behind the dispatcher"
                    yield f"surface/server.py imports {imported}: {first}"


@dataclass(frozen=True, slots=True)
class _Written:
    classes: frozenset[str]
    imports: tuple[str, ...]
    has_float: bool
    our_words: tuple[str, ...]


@cache
def _written(text: str) -> _Written:
    """Read a page once, whoever asks."""
    classes, imports, has_float = set[str](), list[str](), False
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ClassDef():
                classes.add(node.name)
            case ast.Import():
                imports += [alias.name for alias in node.names]
            case ast.ImportFrom(module=str(module)):
                # A name from the package itself is a module.
                imports += [f"{NAME}.{alias.name}" for alias in node.names] if module == NAME else [module]
            case ast.Constant(value=float()) | ast.Name(id="float"):
                has_float = True
            case _:
                pass
    ours = {found.lower() for found in OUR_WORD.findall(HUMPS.sub("_", text))}
    return _Written(frozenset(classes), tuple(imports), has_float, tuple(sorted(ours)))


def _is_of(name: str, modules: Sequence[str]) -> bool:
    dotted = f"{NAME}.{name.removesuffix('.py').replace('/', '.')}"
    return any(f"{dotted}.".startswith(f"{module}.") for module in modules)
