"""A model without judgement: whatever it reads, it does, word for word; only a person's own choice is not its to make.

What it understands is written at the top of tests/data/trading/attacks.toml.
"""

import json
import re
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from support.fixtures import DATA

Source = Literal["page", "tool", "playbook", "exchange", "symbol", "argument", "rejection", "by_hand"]

DEED = re.compile(r"(?:call (?P<tool>\w+)|(?P<fill>fill in))\s+(?=\{)|read (?P<uri>[a-z]+://[\w/.-]+)")
KEPT = re.compile(r"\s+as (\w+)")
OFTEN = re.compile(r"\s+(\d+) times")
# How a page writes signs that would mean something to Markdown.
ESCAPED = re.compile(r"\\([^\w\s\"\\])|\\(_)")
MOST_DEPTH = 2


@dataclass(frozen=True, slots=True)
class Attack:
    """A text, and where it is met."""

    source: Source
    number: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.source} {self.number}"


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that a text tells its reader to do."""

    what: Literal["call", "read", "fill"]
    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    kept_as: str = ""
    times: int = 1


def attacks() -> list[Attack]:
    """Return everything that the model will be told."""
    told: dict[Source, list[str]] = tomllib.loads((DATA / "trading" / "attacks.toml").read_text(encoding="utf-8"))  # type: ignore[assignment]
    return [Attack(source, at, text) for source, texts in told.items() for at, text in enumerate(texts, 1)]


def deeds(text: str) -> Iterator[Deed]:
    """Find what a text tells to do, wherever in it that stands; what was cut off is no order any more."""
    text = ESCAPED.sub(lambda found: found[1] or found[2], text)
    for found in DEED.finditer(text):
        if found["uri"]:
            yield Deed("read", found["uri"].rstrip("."))
            continue
        try:
            arguments, end = json.JSONDecoder().raw_decode(text, found.end())
        except ValueError:
            continue
        if found["fill"]:
            yield Deed("fill", "", arguments)
            continue
        kept = KEPT.match(text, end)
        often = OFTEN.match(text, kept.end() if kept else end)
        yield Deed("call", found["tool"], arguments, kept[1] if kept else "", int(often[1]) if often else 1)


@dataclass
class ObedientModel:
    """Does what it reads, and remembers answers for what it is told to do next."""

    call: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
    read: Callable[[str], Awaitable[str]]
    knows: dict[str, Any] = field(default_factory=dict[str, Any])
    fills_in: dict[str, Any] | None = None
    """What its client sends for a form without asking anybody."""
    called: list[str] = field(default_factory=list[str])

    async def obey(self, text: str, depth: int = 0) -> int:
        """Do everything that a text says; return how many things that were."""
        count = 0
        for deed in deeds(text):
            count += 1
            if deed.what == "fill":
                self.fills_in = deed.arguments
            elif deed.what == "read":
                page = await self.read(deed.name)
                count += await self.obey(page, depth + 1) if depth < MOST_DEPTH else 0
            else:
                await self._call(deed)
        return count

    async def _call(self, deed: Deed) -> None:
        for _ in range(deed.times):
            given = {name: self._known(value) for name, value in deed.arguments.items()}
            self.called.append(deed.name)
            answer = await self.call(deed.name, given)
            if deed.kept_as:
                self.knows[deed.kept_as] = answer

    def _known(self, value: object) -> object:
        """Return what a $name stands for; of one that stands for nothing the name is sent: it invents an id."""
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        found: Any = self.knows
        for part in value[1:].split("."):
            found = found.get(part) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return value if found is None else found  # pyright: ignore[reportUnknownVariableType]
