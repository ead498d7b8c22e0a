"""Configuration arguments of the chart tools: `config` as an object, or `chart` as JSON text."""

import json
from typing import Any, Self, cast

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from mcp_binance_server.surface.arguments import Arguments


class ChartArguments(Arguments):
    """A chart configuration in exactly one of `config` and `chart`.

    `chart` exists because LangChain reserves the name `config`, and because strict modes cannot declare an object with
    free members.
    """

    config: dict[str, Any] | None = Field(default=None, description="Chart config")
    chart: str | None = Field(default=None, description="Or config as JSON text")

    @property
    def configuration(self) -> dict[str, Any]:
        return _parsed(self.chart) if self.chart is not None else self.config or {}

    @model_validator(mode="after")
    def _is_given_once(self) -> Self:
        if (self.config is None) == (self.chart is None):
            raise PydanticCustomError(
                "one_chart", "give exactly one: config (an object) or chart (the same as JSON text)"
            )
        if self.chart is not None:
            _parsed(self.chart)
        return self


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise PydanticCustomError("no_object", "chart is not a JSON object")
    return cast("dict[str, Any]", found)
