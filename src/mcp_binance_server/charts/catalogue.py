"""Catalogue of the studies, drawings, styles and exchanges that a chart can use.

Each answer names its source and the time when it was fetched.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Generic, Literal, Self, TypeVar

import msgspec

from mcp_binance_server.charts.plans import Plan

Scalar = bool | int | float | str

T_co = TypeVar("T_co", covariant=True)
Source = Literal["live", "cache", "stale", "bundled", "binance"]


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Constraints on one value.

    `type` is Integer, Float, String, Boolean, Color, DateTime, Object or Object[].
    """

    type: str
    default: Scalar | None = None
    min: int | float | None = None
    max: int | float | None = None
    options: tuple[Scalar, ...] = ()
    required: bool = False


class StudyInput(Rule, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Constraints on one input of a study. `public` is the input's key in the tools' dialect."""

    public: str
    label: str = ""


class BodyParameter(Rule, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Constraints on one key of a chart's JSON body.

    `fields` are the keys of the object. For a list they are the keys of each of its objects.
    """

    fields: "Mapping[str, BodyParameter]" = {}
    object: Mapping[str, str] = {}
    announced: tuple[str, ...] = ()
    plans: tuple[str, ...] = ()
    max_bars: int | None = None
    note: str = ""


class CatalogueStudy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One study with its inputs and overrides.

    `api_name` is its name in the service's dialect, and `name` in the tools' dialect. `input` and `override` have the
    service's keys.
    """

    api_name: str
    name: str
    display_name: str
    category: str
    overlay: bool
    aliases: tuple[str, ...] = ()
    input: Mapping[str, StudyInput] = {}
    override: Mapping[str, Rule] = {}

    def wire_key(self, key: str) -> str | None:
        """Return the service's key of an input. The argument can be the service's key or the public key."""
        if key in self.input:
            return key
        return next((wire for wire, rule in self.input.items() if rule.public == key), None)

    def defaults(self) -> dict[str, Scalar]:
        """Return the defaults of all inputs, by public key."""
        return {rule.public: rule.default for rule in self.input.values() if rule.default is not None}


class Levels(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The numbered levels of a Fib Retracement. Each override key `level1`, `level2`, ... has these fields."""

    key_pattern: str
    fields: Mapping[str, str]


class Drawing(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One kind of drawing."""

    api_name: str
    input: Mapping[str, Rule]
    override: Mapping[str, Rule] = {}
    z_order: tuple[str, ...] = ()
    levels: Levels | None = None


class Style(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One way to draw the price, such as candles or a line."""

    value: str
    display_name: str
    override: Mapping[str, Rule]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange with symbols that chart-img.com can draw."""

    id: str
    name: str
    type: str
    description: str


class ChartCatalogue(msgspec.Struct, frozen=True, kw_only=True, rename="camel", dict=True):
    """The whole catalogue with lookup methods. Its fields are the keys of the JSON file."""

    parameters: Mapping[str, BodyParameter]
    plans: Mapping[str, Plan]
    indicators: tuple[CatalogueStudy, ...]
    drawings: tuple[Drawing, ...]
    styles: tuple[Style, ...]
    exchanges: tuple[Exchange, ...] = ()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Parse a catalogue written by `to_json` or shipped with the package."""
        read = msgspec.json.decode(text, type=cls)
        named = {name: msgspec.structs.replace(plan, name=name) for name, plan in read.plans.items()}
        return msgspec.structs.replace(read, plans=named)

    def to_json(self) -> bytes:
        """Return the catalogue as JSON."""
        return msgspec.json.encode(self)

    def indicator(self, name: str) -> CatalogueStudy | None:
        """Return the study with this API name, tool name, display name or alias.

        Ignore case if none matches exactly.
        """
        return self._exactly.get(name) or self._folded.get(name.strip().casefold())

    def drawing(self, name: str) -> Drawing | None:
        """Return the drawing with this API name, ignoring case."""
        return self._drawings.get(name.strip().casefold())

    def style(self, value: str) -> Style | None:
        """Return the style with exactly this value."""
        return self._styles.get(value)

    def exchange(self, exchange_id: str) -> Exchange | None:
        """Return the exchange with this ID, ignoring case."""
        return self._exchanges.get(exchange_id.strip().upper())

    def options(self, parameter: str) -> tuple[str, ...]:
        """Return the allowed values of a key of the body, such as `interval` or `timezone`."""
        found = self.parameters.get(parameter)
        return tuple(str(option) for option in found.options) if found else ()

    @cached_property
    def _exactly(self) -> Mapping[str, CatalogueStudy]:
        return _first((name, each) for name in ("api_name", "name") for name, each in self._named(name))

    @cached_property
    def _folded(self) -> Mapping[str, CatalogueStudy]:
        names = [pair for kind in ("api_name", "name", "display_name") for pair in self._named(kind)]
        aliases = [(alias, each) for each in self.indicators for alias in each.aliases]
        return _first((name.casefold(), each) for name, each in (*names, *aliases))

    @cached_property
    def _drawings(self) -> Mapping[str, Drawing]:
        return {each.api_name.casefold(): each for each in self.drawings}

    @cached_property
    def _styles(self) -> Mapping[str, Style]:
        return {each.value: each for each in self.styles}

    @cached_property
    def _exchanges(self) -> Mapping[str, Exchange]:
        return {each.id: each for each in self.exchanges}

    def _named(self, kind: str) -> list[tuple[str, CatalogueStudy]]:
        return [(str(getattr(each, kind)), each) for each in self.indicators]


def _first(pairs: Iterable[tuple[str, CatalogueStudy]]) -> dict[str, CatalogueStudy]:
    found: dict[str, CatalogueStudy] = {}
    for name, indicator in pairs:
        found.setdefault(name, indicator)
    return found


@cache
def bundled_catalogue() -> ChartCatalogue:
    """Return the catalogue bundled with the package. It is parsed on first use."""
    return ChartCatalogue.from_json(files("mcp_binance_server.charts").joinpath("chartimg_catalog.json").read_bytes())


@dataclass(frozen=True, slots=True)
class Held(Generic[T_co]):
    """A value with its source and time. `warning` explains why it may be outdated."""

    value: T_co
    source: Source
    at_ms: int
    warning: str | None = None


class Example(msgspec.Struct, frozen=True):
    """An example chart and its description."""

    description: str
    config: dict[str, object]


class Documentation(msgspec.Struct, frozen=True):
    """The catalogue and a few example charts."""

    catalogue: ChartCatalogue
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class ListedSymbol:
    """One symbol of an exchange; `type` is crypto, forex, stock, fund, futures or index."""

    symbol: str
    description: str
    type: str


@dataclass(frozen=True, slots=True)
class SymbolList:
    """The symbols of an exchange that match a search, best match first."""

    exchange: str
    symbols: tuple[ListedSymbol, ...]
