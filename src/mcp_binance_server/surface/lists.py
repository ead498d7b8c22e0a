"""What clients list, written down beforehand: to list the tools takes none of the code that runs them.

`scripts/lists` writes the file again from the catalogue, and a test compares the two.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from mcp import types
from pydantic_core import from_json

FILE = "lists.json"


@dataclass(frozen=True, slots=True)
class Lists:
    """Every list of a server."""

    tools: list[types.Tool]
    resources: list[types.Resource]
    templates: list[types.ResourceTemplate]
    prompts: list[types.Prompt]


def read_lists(toolsets: AbstractSet[str], *, live: bool, chart_app: bool, trading: bool) -> Lists:
    """Return what a server with these groups lists; the rest is as in the catalogue's own choice of the same names."""
    chosen = {"live": live, "chart_app": chart_app, "trading": trading}
    written: dict[str, list[dict[str, Any]]] = from_json(files(__package__ or "").joinpath(FILE).read_bytes())

    def wires(kind: str) -> list[dict[str, Any]]:
        return [
            entry["wire"]
            for entry in written[kind]
            if entry["toolset"] in toolsets and all(entry.get(name, value) == value for name, value in chosen.items())
        ]

    return Lists(
        [types.Tool.model_validate(wire) for wire in wires("tools")],
        [types.Resource.model_validate(wire) for wire in wires("resources")],
        [types.ResourceTemplate.model_validate(wire) for wire in wires("templates")],
        [types.Prompt.model_validate(wire) for wire in wires("prompts")],
    )
