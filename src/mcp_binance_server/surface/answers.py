"""Last steps of an answer: sharing it between equal calls, adding warnings about its data, and encoding long texts."""

import json
from collections.abc import Awaitable, Callable, Generator, Sequence
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

# For shorter texts, encoding in pieces costs more time than it saves.
LONG = 128 * 2**10
PIECE = 256 * 2**10
# Size of an answer from which other tasks get a turn before it is encoded.
GIVES_WAY = 8 * 2**10

Make = Callable[[], Awaitable[types.CallToolResult]]

# Equal to the time for which the exchange's own answers are shared. A rendered answer states the time of its data.
SHARED_MS = 1_000
# Number of cached answers; a thousand candles take 100 kB as text and 100 kB as structured data.
MOST_KEPT = 16


@dataclass
class Aside:
    """Long texts taken out of one answer, by placeholder, and the party (caller) that pays for encoding them."""

    texts: dict[bytes, str] = field(default_factory=dict[bytes, str])
    party: str = ""


_ASIDE: ContextVar[Aside | None] = ContextVar("long_texts", default=None)


@contextmanager
def place_for_long_texts() -> Generator[Aside]:
    """Replace long texts by placeholders inside the block. The caller must insert them again with `restored`."""
    aside = Aside()
    before = _ASIDE.set(aside)
    try:
        yield aside
    finally:
        _ASIDE.reset(before)


def put_aside(text: str) -> str:
    """Return a short text unchanged. Store a long text and return its placeholder."""
    aside = _ASIDE.get()
    if aside is None or len(text) < LONG:
        return text
    word = f"long text {uuid4().hex}"
    aside.texts[f'"{word}"'.encode()] = text
    aside.party = PARTY.get()  # keep the party, which is no longer known when the answer is encoded
    return word


def opened(mode: str, words: str, text: str) -> str:
    """Prefix a text about an account with the kind of its money, unless it already starts with the mode."""
    return text if not mode or text.startswith(mode) else f"{words}\n\n{text}"


def without_long_texts(answer: types.CallToolResult) -> types.CallToolResult:
    """Return a copy of an answer with placeholders for its long texts.

    The original is not changed, because it may be shared.
    """
    if _ASIDE.get() is None or not is_long(answer, LONG):
        return answer
    content = [_block(each) for each in answer.content]
    structured: dict[str, Any] | None = answer.structured_content and {
        name: put_aside(value) if isinstance(value, str) else value for name, value in answer.structured_content.items()
    }
    return answer.model_copy(update={"content": content, "structured_content": structured})


def is_long(answer: types.CallToolResult, length: int = GIVES_WAY) -> bool:
    """Return True if an answer contains a long text, or content other than text."""
    said = [each.text if isinstance(each, types.TextContent) else None for each in answer.content]
    structured: dict[str, Any] = answer.structured_content or {}
    members = [value for value in structured.values() if isinstance(value, str)]
    return any(text is None or len(text) >= length for text in (*said, *members))


async def restored(written: bytes, aside: Aside, pace: LoopPace) -> bytes:
    """Insert the long texts into an encoded answer. Each text is encoded in pieces, and other tasks run in between."""
    pieces: list[bytes] = []
    for word, text in sorted(aside.texts.items(), key=lambda each: written.find(each[0])):
        before, found, written = written.partition(word)
        pieces.append(before)
        if not found:  # the placeholder is missing: an error replaced the answer
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
    except UnicodeEncodeError:  # a lone surrogate, which the SDK would send too
        return json.dumps(text).encode()


def _block(block: types.ContentBlock) -> types.ContentBlock:
    if isinstance(block, types.TextContent) and len(block.text) >= LONG:
        return block.model_copy(update={"text": put_aside(block.text)})
    return block


@dataclass
class SharedAnswers:
    """Cache of recent answers, and of answers in progress, by request.

    All callers that wait for an answer get the same error. Errors are not cached.
    """

    clock: Clock
    flights: Flights[types.CallToolResult] = field(init=False, repr=False)
    _kept: dict[str, tuple[float, types.CallToolResult]] = field(
        default_factory=dict[str, tuple[float, types.CallToolResult]], init=False, repr=False
    )

    def __post_init__(self) -> None:
        self.flights = Flights(self.clock)

    def has(self, asked: str) -> bool:
        """Return True if a request was answered within the last second."""
        made_at_ms, answer = self._kept.get(asked, (0.0, None))
        return answer is not None and self.clock.monotonic_ms() - made_at_ms < SHARED_MS

    async def get(self, asked: str, make: Make) -> types.CallToolResult:
        """Return the answer to a request: from the cache, from a request in progress, or new."""
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
    """Return warnings about a market's data.

    A market that trades is checked only if `quiet` says that trading may have paused.

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
    """Add warnings about the data to a tool's answer, unless it already has warnings."""
    if answer.warnings:
        return answer
    return replace(answer, warnings=tuple(await doubts_about(context, symbol, quiet=answer.quiet)))


def warned_text(answer: ToolAnswer) -> str:
    """Insert warnings below the first line of a text for an answer. Omit warnings that the text contains already."""
    return warned(answer.text, answer.warnings)


def warned(text: str, warnings: Sequence[str]) -> str:
    """Insert warnings below the first line of a text. Omit warnings that the text contains already."""
    if not warnings:
        return text
    lines = [line for line in doubt_lines(warnings) if line not in text]
    first, *rest = text.split("\n")
    return "\n".join([first, *lines, *rest])
