"""The ordered list of everything a client can see; order here is order on the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mcp_binance_server.surface.resources import market as market_resources
from mcp_binance_server.surface.spec import PageReader, PromptSpec, ResourceSpec, TemplateSpec, ToolSpec
from mcp_binance_server.surface.tools import market as market_tools


@dataclass(frozen=True)
class Catalogue:
    """Tools, resources, templates and prompts, and who reads each category of binance:// addresses."""

    tools: tuple[ToolSpec[Any], ...] = ()
    resources: tuple[ResourceSpec, ...] = ()
    templates: tuple[TemplateSpec, ...] = ()
    prompts: tuple[PromptSpec[Any], ...] = ()
    readers: Mapping[str, PageReader] = field(default_factory=lambda: MappingProxyType({}))

    def tool(self, name: str) -> ToolSpec[Any] | None:
        return next((spec for spec in self.tools if spec.name == name), None)

    def prompt(self, name: str) -> PromptSpec[Any] | None:
        return next((spec for spec in self.prompts if spec.name == name), None)


CATALOGUE = Catalogue(
    tools=(market_tools.GET_TICKER,),
    resources=(market_resources.BTCUSDT, market_resources.ETHUSDT),
    templates=(market_resources.ANY_SYMBOL,),
    readers=MappingProxyType({"market": market_resources.read_market}),
)
