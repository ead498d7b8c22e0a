"""Mutants of SQL and Lua. Each replaces one word of the text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mutation.mutant import Mutant, numbered

SQL = re.compile(r"\b(?:SELECT|UPDATE|INSERT|DELETE|FROM|WHERE|IS NULL|UNION ALL)\b")
SQL_WORDS = {
    ">=": (">", "<"),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    "<": ("<=", ">="),
    "=": ("<>",),
    "+": ("-",),
    "-": ("+",),
    "IS NULL": ("IS NOT NULL",),
    "IS NOT NULL": ("IS NULL",),
    "AND": ("OR",),
    "OR": ("AND",),
    "UNION ALL": ("UNION",),
    "DESC": ("ASC",),
    "min(": ("max(",),
    "max(": ("min(",),
    "count(": ("sum(",),
}
SQL_WORD = re.compile(
    r">=|<=|<>|[<>=+]|(?<=[\w)])-|IS NOT NULL|IS NULL|UNION ALL|\bAND\b|\bOR\b|\bDESC\b|\b(?:min|max)\("
)

LUA_WORDS = {
    "==": ("~=",),
    "~=": ("==",),
    "<=": ("<", ">"),
    ">=": (">", "<"),
    "<": ("<=", ">="),
    ">": (">=", "<="),
    " + ": (" - ",),
    " - ": (" + ",),
    " * ": (" / ",),
    " / ": (" * ",),
    " and ": (" or ",),
    " or ": (" and ",),
    "not ": ("",),
    "true": ("false",),
    "false": ("true",),
    "math.max": ("math.min",),
    "math.min": ("math.max",),
    "math.floor": ("math.ceil",),
    "'(' .. ": ("",),
}
# Skip quoted texts, except the sign of an open interval.
LUA_WORD = re.compile(
    r"'\(' \.\. |(?P<quoted>'[^']*')|==|~=|<=|>=|[<>]| \+ | - | \* | / |\band\b|\bor\b|\bnot |\btrue\b|\bfalse\b"
    r"|math\.(?:max|min|floor)|(?<![\w.])(?P<number>\d+)\b"
)
LUA_CALL = re.compile(r"\s*(?:redis\.call|local function closed|keep|count|tell|forget)\(.*\)\s*$")


def is_sql(text: str) -> bool:
    """Return whether a text is an SQL statement or a part of one."""
    return SQL.search(text) is not None


def sql_changes(text: str) -> Iterator[str]:
    """Yield the statement once for each possible replacement of one word."""
    for found in SQL_WORD.finditer(text):
        for other in SQL_WORDS[found.group()]:
            yield text[: found.start()] + other + text[found.end() :]


@dataclass
class ScriptFile:
    """A script of the state server with all its possible changes."""

    path: Path
    text: str = field(init=False)
    changed: list[str] = field(init=False)
    mutants: list[Mutant] = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.path.read_text(encoding="utf-8")
        self.changed = []
        self.mutants = [*numbered(self._found())]

    def _found(self) -> Iterator[Mutant]:
        lines = self.text.splitlines(keepends=True)
        scope = "script"
        for number, line in enumerate(lines):
            if line.startswith("local function"):
                scope = line.removeprefix("local function ").partition("(")[0]
            elif not line.startswith((" ", "end")):
                scope = "script"
            for other in _lua_changes(line):
                changed = "".join([*lines[:number], other, *lines[number + 1 :]])
                after = other.strip() or "(removed)"
                site = len(self.changed)
                self.changed.append(changed)
                around = range(number + 1, number + 2)
                yield Mutant(self.path, scope, number + 1, number + 1, line.strip(), after, "script", site, around)


def _lua_changes(line: str) -> Iterator[str]:
    if line.lstrip().startswith("--"):
        return
    for found in LUA_WORD.finditer(line):
        word = found.group()
        if found["quoted"] is not None:
            continue
        if found["number"] is not None:
            others = tuple(str(int(word) + step) for step in (1, -1) if int(word) + step >= 0)
        else:
            others = LUA_WORDS.get(word) or tuple(each.strip() for each in LUA_WORDS[f" {word} "])
        for other in others:
            yield line[: found.start()] + other + line[found.end() :]
    if LUA_CALL.match(line):
        yield "\n"
