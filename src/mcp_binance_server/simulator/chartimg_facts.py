"""What the simulated chart-img knows: parameters, studies, drawings, styles, plans and exchanges, read from data."""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import TypeGuard

import msgspec

Value = bool | int | float | str


class Fact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one key may hold."""

    type: str
    label: str = ""
    default: Value | None = None
    min: float | int | None = None
    max: float | int | None = None
    options: tuple[Value, ...] = ()
    required: bool = False
    fields: "Mapping[str, Fact]" = {}


class PlanFact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    requests_per_second: int
    burst: int
    daily_max: int
    max_width: int
    max_height: int
    max_studies: int
    storage_days: int
    forced_watermark: bool
    custom_watermark: bool
    open_ended: bool


class StudyFact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_name: str
    overlay: bool
    input: Mapping[str, Fact]
    override: Mapping[str, Fact]


class LevelsFact(msgspec.Struct, frozen=True, kw_only=True):
    fields: Mapping[str, str]


class DrawingFact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_name: str
    input: Mapping[str, Fact]
    override: Mapping[str, Fact]
    z_order: tuple[str, ...]
    levels: LevelsFact | None = None


class StyleFact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    value: str
    display_name: str
    override: Mapping[str, Fact]


class ExchangeFact(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    type: str


class Facts(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All of it, with look-ups by the names of the wire."""

    parameters: Mapping[str, Fact]
    plans: Mapping[str, PlanFact]
    indicators: tuple[StudyFact, ...]
    drawings: tuple[DrawingFact, ...]
    styles: tuple[StyleFact, ...]
    exchanges: tuple[ExchangeFact, ...]

    @cached_property
    def study(self) -> Mapping[str, StudyFact]:
        return {each.api_name: each for each in self.indicators}

    @cached_property
    def drawing(self) -> Mapping[str, DrawingFact]:
        return {each.api_name: each for each in self.drawings}

    @cached_property
    def style(self) -> Mapping[str, StyleFact]:
        return {each.value: each for each in self.styles}

    @cached_property
    def exchange_ids(self) -> list[str]:
        return sorted(each.id for each in self.exchanges)


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list)


@cache
def read_facts() -> Facts:
    """Read the data file that ships with the package; no code is shared with the client of the service."""
    path = files("mcp_binance_server").joinpath("charts", "chartimg_catalog.json")
    return msgspec.json.decode(path.read_bytes(), type=Facts)
