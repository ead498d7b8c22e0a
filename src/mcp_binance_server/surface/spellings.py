"""Other spellings of a pair in the arguments of a tool, such as `btc` or `BTC/USDT`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mcp import types

from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import echo
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Arguments, ToolSpec

ONE, SEVERAL = "symbol", "symbols"

Spelled = Callable[[str], Awaitable[Symbol | None]]
Taken = Mapping[str, Symbol]
"""Pairs by the caller's spelling."""


async def exact_pairs(context: Context, spec: ToolSpec[Any], given: Arguments) -> tuple[Arguments, Taken]:
    """Replace other spellings in the arguments of a tool that reads by the exact pairs.

    A spelling that fits no pair or several stays; the tool refuses it with suggestions. Tools that write take exact
    pairs only. Charts read their words themselves, and their configuration is in TradingView's spelling.
    """
    if not spec.read_only or spec.toolset == "charts":
        return given, {}
    spelled = context.derivatives.spelled if spec.toolset == "derivatives" else context.market.spelled
    written: dict[str, Any] = {name: getattr(given, name, None) for name in (ONE, SEVERAL)}
    taken: dict[str, Symbol] = {}
    for text in (written[ONE], *(written[SEVERAL] or ())):
        if isinstance(text, str) and (symbol := await spelled(text)) is not None:
            taken[text] = symbol
    if not taken:
        return given, {}
    changes = {name: _replaced(value, taken) for name, value in written.items() if value is not None}
    return given.model_copy(update=changes), taken


def _replaced(written: str | Sequence[str], taken: Taken) -> str | list[str]:
    return taken.get(written, written) if isinstance(written, str) else [taken.get(each, each) for each in written]


def with_pairs_named(answer: types.CallToolResult, taken: Taken, *, mode: str) -> types.CallToolResult:
    """Return an answer that names the pairs that were taken: first in its text, or below its mode, and in its notes."""
    if not taken:
        return answer
    note = f"Read {', '.join(f'{echo(text.strip())} as {symbol}' for text, symbol in taken.items())}."
    block, *others = answer.content
    if isinstance(block, types.TextContent):
        first, _, rest = block.text.partition("\n")
        text = f"{first}\n{note}\n{rest}" if mode and first.startswith(mode) else f"{note}\n\n{block.text}"
        block = block.model_copy(update={"text": text})
    structured = answer.structured_content
    if structured is not None:
        structured = {**structured, "notes": [note, *structured.get("notes", ())]}
    return answer.model_copy(update={"content": [block, *others], "structured_content": structured})
