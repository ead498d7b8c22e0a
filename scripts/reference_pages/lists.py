"""Write the lists that a server sends before its catalogue is loaded: `scripts/lists [FILE]`."""

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Any, get_args

from mcp_binance_server.settings import Toolset
from mcp_binance_server.surface.catalogue import CATALOGUE, Catalogue
from mcp_binance_server.surface.greeting import ESSENTIAL
from mcp_binance_server.surface.spec import PromptSpec, ResourceSpec, TemplateSpec, ToolSpec

CHOICES = ("live", "chart_app", "trading")
Listed = ToolSpec[Any] | ResourceSpec | TemplateSpec | PromptSpec[Any]
Entry = dict[str, Any]


def lists_file() -> str:
    """Return the lists for all combinations of options.

    An entry names the options under which it is listed, unless it is always listed.
    """
    toolsets = frozenset(get_args(Toolset))
    shown = [
        (chosen, CATALOGUE.only(toolsets, **dict(zip(CHOICES, chosen, strict=True))))
        for chosen in product((True, False), repeat=len(CHOICES))
    ]
    kinds = {"tools": _tools, "resources": _resources, "templates": _templates, "prompts": _prompts}
    written = {
        kind: _entries([(chosen, specs(catalogue)) for chosen, catalogue in shown]) for kind, specs in kinds.items()
    }
    for entries in written.values():
        _mark_essential(entries)
    written["tools"] = [*_with_essential(written["tools"])]
    lines = [f" {json.dumps(kind)}: [\n{_rows(entries)}\n ]" for kind, entries in written.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _mark_essential(entries: list[Entry]) -> None:
    """Mark what the profile `essential` lists of other toolsets."""
    for entry in entries:
        of = CATALOGUE.only({ESSENTIAL}, **{name: entry[name] for name in CHOICES if name in entry})
        if any(_wire(spec) == entry["wire"] for spec in (*of.tools, *of.resources, *of.templates, *of.prompts)):
            entry[ESSENTIAL] = True


def _with_essential(entries: list[Entry]) -> Iterator[Entry]:
    """Add the tools that only the profile has, and its shorter forms behind the usual ones."""
    own = {spec.name: spec for spec in CATALOGUE.only({ESSENTIAL}).tools if spec not in CATALOGUE.tools}
    for name, forms in groupby(entries, lambda entry: entry["wire"]["name"]):
        yield from forms
        if shorter := own.pop(name, None):
            yield {"toolset": ESSENTIAL, "wire": _wire(shorter)}
    yield from ({"toolset": ESSENTIAL, "wire": _wire(spec)} for spec in own.values())


def _wire(spec: Listed) -> dict[str, Any]:
    return spec.wire.model_dump(by_alias=True, mode="json", exclude_none=True)


def _tools(catalogue: Catalogue) -> Sequence[Listed]:
    return catalogue.tools


def _resources(catalogue: Catalogue) -> Sequence[Listed]:
    return catalogue.resources


def _templates(catalogue: Catalogue) -> Sequence[Listed]:
    return catalogue.templates


def _prompts(catalogue: Catalogue) -> Sequence[Listed]:
    return catalogue.prompts


def _entries(shown: list[tuple[tuple[bool, ...], Sequence[Listed]]]) -> list[Entry]:
    """Return the entries in the order of the first list, which is the longest. Each is followed by its variants."""
    (_, longest), *_ = shown
    return [entry for spec in longest for entry in _forms(_name(spec), shown)]


def _forms(name: str, shown: list[tuple[tuple[bool, ...], Sequence[Listed]]]) -> Iterator[Entry]:
    forms: dict[str, list[tuple[bool, ...]]] = {}
    for chosen, specs in shown:
        for spec in specs:
            if _name(spec) == name:
                forms.setdefault(json.dumps({"toolset": spec.toolset, "wire": _wire(spec)}), []).append(chosen)
    for form, choices in forms.items():
        fixed = {
            CHOICES[place]: values.pop()
            for place, values in enumerate(map(set, zip(*choices, strict=True)))
            if len(values) == 1
        }
        if len(choices) != 2 ** (len(CHOICES) - len(fixed)):
            raise ValueError(f"{name}: one form is listed for choices that no fixed ones describe: {choices}")
        yield {**fixed, **json.loads(form)}


def _name(spec: Listed) -> str:
    match spec:
        case ResourceSpec():
            return spec.uri
        case TemplateSpec():
            return spec.uri_template
        case _:
            return spec.name


def _rows(entries: list[Entry]) -> str:
    return ",\n".join(f"  {json.dumps(entry, ensure_ascii=False, separators=(',', ':'))}" for entry in entries)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(lists_file(), encoding="utf-8", newline="\n")
