"""Long texts of an answer on their way past the SDK, which takes four times as long to write them as JSON.

Where a transport has opened a place for them, an answer carries a word in the stead of each, which nobody can guess;
the transport puts the text there when the rest is written.
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import msgspec
from mcp import types

from mcp_binance_server.domain.access import PARTY, acting_for
from mcp_binance_server.state.pace import LoopPace

# Shorter ones are written sooner than one can look for them.
LONG = 128 * 2**10
PIECE = 256 * 2**10


@dataclass
class Aside:
    """The texts of one answer by the words in their stead, and for whom they are."""

    texts: dict[bytes, str] = field(default_factory=dict[bytes, str])
    party: str = ""


_ASIDE: ContextVar[Aside | None] = ContextVar("long_texts", default=None)


@contextmanager
def place_for_long_texts() -> Generator[Aside]:
    """Have long texts put here instead of into answers; who opens this must put them back by `restored`."""
    aside = Aside()
    before = _ASIDE.set(aside)
    try:
        yield aside
    finally:
        _ASIDE.reset(before)


def put_aside(text: str) -> str:
    """Return the text, or the word that stands for it."""
    aside = _ASIDE.get()
    if aside is None or len(text) < LONG:
        return text
    word = f"long text {uuid4().hex}"
    aside.texts[f'"{word}"'.encode()] = text
    aside.party = PARTY.get()  # who writes the answer does not know it any more
    return word


def without_long_texts(answer: types.CallToolResult) -> types.CallToolResult:
    """Return a tool's answer with its long texts put aside; it may be another's too, so it stays as it is."""
    if _ASIDE.get() is None:
        return answer
    content = [_block(each) for each in answer.content]
    structured: dict[str, Any] | None = answer.structured_content and {
        name: put_aside(value) if isinstance(value, str) else value for name, value in answer.structured_content.items()
    }
    return answer.model_copy(update={"content": content, "structured_content": structured})


async def restored(written: bytes, aside: Aside, pace: LoopPace) -> bytes:
    """Return an answer as JSON with the texts in their places; they are written a piece at a time."""
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
    except UnicodeEncodeError:  # half a character, which the SDK would write too
        return json.dumps(text).encode()


def _block(block: types.ContentBlock) -> types.ContentBlock:
    if isinstance(block, types.TextContent) and len(block.text) >= LONG:
        return block.model_copy(update={"text": put_aside(block.text)})
    return block
