"""Categories, collections, root folders and limits: built in, or from a user's file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from mcp_binance_server.guide.addresses import Pattern, compile_pattern

CONTENT: Final = Path(__file__).parent / "content"
DEFAULT_PATTERNS: Final = ("*.md",)
EVERY: Final = "*"


@dataclass(frozen=True, slots=True)
class Category:
    """Documents about one subject. They are in a folder of the same name below each root folder."""

    name: str
    description: str = ""
    folder: tuple[str, ...] = ()
    patterns: tuple[str, ...] = DEFAULT_PATTERNS
    builtin: bool = False
    """Whether the category includes the package's own documents. The user's documents come first."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Several categories that are read together, in this order."""

    name: str
    description: str = ""
    categories: tuple[str, ...] = (EVERY,)
    patterns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on one document and on one answer."""

    document_bytes: int = 1_048_576
    response_bytes: int = 4_194_304
    matches: int = 500


@dataclass(frozen=True, slots=True)
class Guides:
    """The complete, checked configuration. `warnings` are remarks for the user."""

    categories: Mapping[str, Category]
    collections: Mapping[str, Collection]
    roots: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)
    watch: bool = True
    warnings: tuple[str, ...] = ()

    def categories_of(self, collection: Collection) -> tuple[Category, ...]:
        """Return the categories of a collection in its order. For `*` return all categories by name."""
        names = sorted(self.categories) if EVERY in collection.categories else collection.categories
        return tuple(self.categories[name] for name in names if name in self.categories)


def compiled(patterns: tuple[str, ...]) -> tuple[Pattern, ...]:
    """Compile patterns that were already checked at load time."""
    return tuple(map(compile_pattern, patterns))


def _builtin(name: str, description: str) -> Category:
    return Category(name, description, (name,), builtin=True)


BUILTIN_CATEGORIES: Final = (
    _builtin("start", "First steps and API keys"),
    _builtin("market", "Reading books, order flow, volume profiles and market health"),
    _builtin("risk", "Position sizing, risk policy and portfolio review"),
    _builtin("trading", "Order types and order rules"),
    _builtin("charts", "Asking for charts"),
    _builtin("errors", "Recovery from errors"),
    _builtin("data", "Source and age of numbers"),
    _builtin("examples", "Short conversations with the calls behind them"),
)
BUILTIN_COLLECTIONS: Final = (
    Collection("all", "Every category"),
    Collection("start", "Read this first", ("start", "examples")),
    Collection("errors", "Recovery from errors", ("errors",)),
    Collection("before-trading", "Read before an order is placed", ("risk", "trading")),
)


def with_builtins(
    categories: Mapping[str, Category], collections: Mapping[str, Collection], hidden: frozenset[str]
) -> Guides:
    """Merge a user's categories and collections with the built-in ones. If names are equal, the user's are used."""
    shipped = {each.name: each for each in BUILTIN_CATEGORIES if each.name not in hidden}
    own = {name: replace(each, builtin=name in shipped) for name, each in categories.items()}
    together = {each.name: each for each in BUILTIN_COLLECTIONS if _is_left(each, hidden)}
    return Guides(MappingProxyType({**shipped, **own}), MappingProxyType({**together, **collections}))


def builtin_guides() -> Guides:
    """Return the configuration that is used without a file."""
    return with_builtins({}, {}, frozenset())


def _is_left(collection: Collection, hidden: frozenset[str]) -> bool:
    return EVERY in collection.categories or any(name not in hidden for name in collection.categories)
