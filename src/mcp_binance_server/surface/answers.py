"""Answers on their way out: shared between equal calls, encoded in pieces if long, with warnings about their data."""

import json
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import msgspec
from mcp import types

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY, acting_for
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.state.flight import Flights
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.errors import LONGEST_SECS
from mcp_binance_server.surface.spec import ToolAnswer
from mcp_binance_server.surface.views.markdown import doubt_lines, doubts, status_doubts

# Shorter texts are encoded faster than they can be located.
LONG = 128 * 2**10
PIECE = 256 * 2**10
# Before an answer of this size is written, other work has its turn.
GIVES_WAY = 8 * 2**10

Make = Callable[[], Awaitable[types.CallToolResult]]

# As long as the exchange's own answers are shared; a rendered answer states its own time.
SHARED_MS = 1_000
# A thousand candles take a hundred kilobytes twice, as text and as structure.
MOST_KEPT = 16


@dataclass
class Aside:
    """Long texts of one answer by their placeholder, and the party of the answer."""

    texts: dict[bytes, str] = field(default_factory=dict[bytes, str])
    party: str = ""


_ASIDE: ContextVar[Aside | None] = ContextVar("long_texts", default=None)


@contextmanager
def place_for_long_texts() -> Generator[Aside]:
    """Collect long texts here instead of in answers; the caller must insert them again with `restored`."""
    aside = Aside()
    before = _ASIDE.set(aside)
    try:
        yield aside
    finally:
        _ASIDE.reset(before)


def put_aside(text: str) -> str:
    """Return the text, or a placeholder for a long text."""
    aside = _ASIDE.get()
    if aside is None or len(text) < LONG:
        return text
    word = f"long text {uuid4().hex}"
    aside.texts[f'"{word}"'.encode()] = text
    aside.party = PARTY.get()  # the party is unknown when the answer is written
    return word


def opened(mode: str, words: str, text: str) -> str:
    """Prefix a text about an account with the words for its kind of money, unless the text starts with the mode."""
    return text if not mode or text.startswith(mode) else f"{words}\n\n{text}"


def without_long_texts(answer: types.CallToolResult) -> types.CallToolResult:
    """Return a copy of a tool's answer with placeholders for long texts; the original may be shared."""
    if _ASIDE.get() is None or not is_long(answer, LONG):
        return answer
    content = [_block(each) for each in answer.content]
    structured: dict[str, Any] | None = answer.structured_content and {
        name: put_aside(value) if isinstance(value, str) else value for name, value in answer.structured_content.items()
    }
    return answer.model_copy(update={"content": content, "structured_content": structured})


def is_long(answer: types.CallToolResult, length: int = GIVES_WAY) -> bool:
    """Return True if a part of an answer is long: a text, a member of the structure, or content that is not text."""
    said = [each.text if isinstance(each, types.TextContent) else None for each in answer.content]
    structured: dict[str, Any] = answer.structured_content or {}
    members = [value for value in structured.values() if isinstance(value, str)]
    return any(text is None or len(text) >= length for text in (*said, *members))


async def restored(written: bytes, aside: Aside, pace: LoopPace) -> bytes:
    """Return an answer as JSON with its long texts in place; they are encoded piece by piece."""
    pieces: list[bytes] = []
    for word, text in sorted(aside.texts.items(), key=lambda each: written.find(each[0])):
        before, found, written = written.partition(word)
        pieces.append(before)
        if not found:  # an error is sent instead
            return b"".join(pieces)
        pieces.append(b'"')
        for start in range(0, len(text), PIECE):
            with acting_for(aside.party):
                await pace.step(goes_on=True)
            pieces.append(_encoded(text[start : start + PIECE])[1:-1])
        pieces.append(b'"')
    return b"".join([*pieces, written])


def _encoded(text: str) -> bytes:
    try:
        return msgspec.json.encode(text)
    except UnicodeEncodeError:  # a lone surrogate, which the SDK would write too
        return json.dumps(text).encode()


def _block(block: types.ContentBlock) -> types.ContentBlock:
    if isinstance(block, types.TextContent) and len(block.text) >= LONG:
        return block.model_copy(update={"text": put_aside(block.text)})
    return block


@dataclass
class SharedAnswers:
    """Recent answers by request, and answers in progress. A failure reaches all waiting callers and is not cached."""

    clock: Clock
    flights: Flights[types.CallToolResult] = field(init=False, repr=False)
    _kept: dict[str, tuple[float, types.CallToolResult]] = field(
        default_factory=dict[str, tuple[float, types.CallToolResult]], init=False, repr=False
    )

    def __post_init__(self) -> None:
        self.flights = Flights(self.clock)

    def has(self, asked: str) -> bool:
        """Return True if an answer was made within the last second."""
        made_at_ms, answer = self._kept.get(asked, (0.0, None))
        return answer is not None and self.clock.monotonic_ms() - made_at_ms < SHARED_MS

    async def get(self, asked: str, make: Make) -> types.CallToolResult:
        """Return the answer to a request: a recent answer, one in progress, or a new one."""
        if self.has(asked):
            return self._kept[asked][1]

        async def produce() -> types.CallToolResult:
            began_ms = self.clock.monotonic_ms()
            made = await make()
            if not made.is_error:
                self._keep(asked, began_ms, made)
            return made

        return await self.flights.join(asked, produce, lock_ms=int(LONGEST_SECS * 1000))

    def _keep(self, asked: str, began_ms: float, answer: types.CallToolResult) -> None:
        self._kept.pop(asked, None)
        self._kept[asked] = (began_ms, answer)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]


async def doubts_about(context: Context, symbol: str, *, quiet: bool) -> list[str]:
    """Return warnings about a market's data; a trading market is checked only if its data looked quiet.

    Raises:
        RateLimited: the rate limit allows no request now.
    """
    rules = await context.market.rules(symbol)
    if rules.is_trading and not quiet:
        return []
    try:
        return doubts(await context.market.ticker(symbol))
    except RateLimited:
        raise
    except AppError:
        return status_doubts(rules)


async def doubted(context: Context, symbol: str, answer: ToolAnswer) -> ToolAnswer:
    """Return a tool's answer with warnings about its data, unless it has warnings of its own."""
    if answer.warnings:
        return answer
    return replace(answer, warnings=tuple(await doubts_about(context, symbol, quiet=answer.quiet)))


def warned_text(answer: ToolAnswer) -> str:
    """Return the text of an answer with its warnings below the first line, without warnings that the text contains."""
    if not answer.warnings:
        return answer.text
    lines = [line for line in doubt_lines(answer.warnings) if line not in answer.text]
    first, *rest = answer.text.split("\n")
    return "\n".join([first, *lines, *rest])
