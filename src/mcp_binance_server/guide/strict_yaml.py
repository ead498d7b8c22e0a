"""Parser of a strict YAML subset. Each value has its line.

Aliases, tags, duplicate keys and deep nesting are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEEPEST = 16
Path = tuple[str | int, ...]


class YamlRefused(ValueError):
    """A text outside the supported syntax. `line` counts from one."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Located:
    """A parsed value, and the first line of each of its parts, by path."""

    value: object
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """Return the line of a value, or of the closest value that contains it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


@dataclass(slots=True)
class _Open:
    # A sequence or mapping that is not complete yet. In a mapping, `key` is the key without a value so far.
    path: Path
    items: list[object] | dict[str, object]
    key: str | None = None


@dataclass(slots=True)
class _Builder:
    lines: dict[Path, int] = field(default_factory=dict[Path, int])
    stack: list[_Open] = field(default_factory=list[_Open])
    value: object = None

    def begin(self, items: list[object] | dict[str, object], line: int) -> None:
        if len(self.stack) >= DEEPEST:
            raise YamlRefused(line, f"nested deeper than {DEEPEST} levels")
        path = self._place(items, line)
        self.stack.append(_Open(path, items))

    def end(self) -> None:
        self.stack.pop()

    def scalar(self, value: object, line: int) -> None:
        around = self.stack[-1] if self.stack else None
        if around is None or isinstance(around.items, list) or around.key is not None:
            self._place(value, line)
            return
        if not isinstance(value, str):
            raise YamlRefused(line, f"a key must be a word; write {value!r} in quotes if it is one")
        if value in around.items:
            raise YamlRefused(line, f"duplicate key {value!r}")
        around.key = value
        self.lines[*around.path, value] = line

    def _place(self, value: object, line: int) -> Path:
        if not self.stack:
            self.value = value
            self.lines[()] = line
            return ()
        around = self.stack[-1]
        if isinstance(around.items, list):
            path: Path = (*around.path, len(around.items))
            around.items.append(value)
        else:
            if around.key is None:
                raise YamlRefused(line, "a key must be a word")
            path = (*around.path, around.key)
            around.items[around.key] = value
            around.key = None
        self.lines.setdefault(path, line)
        return path


def load_yaml(text: str) -> Located:
    """Parse one YAML document.

    Raises:
        YamlRefused: the text is not YAML, or uses an unsupported feature.
    """
    # Imported late: only a configuration file or front matter needs it.
    import yaml  # noqa: PLC0415

    builder, words = _Builder(), yaml.SafeLoader("")
    try:
        # Parse to events instead of objects. The parser does not recurse, so deep nesting is refused before it costs
        # anything.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        for event in yaml.parse(text, Loader=loader):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the stubs leave it open
            _take(builder, event, words)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlRefused(mark.line + 1 if mark else 1, error.problem or "cannot be read") from None
    except yaml.YAMLError:
        raise YamlRefused(1, "has a character that YAML does not allow") from None
    return Located(builder.value, builder.lines)


def _take(builder: _Builder, event: Any, words: Any) -> None:  # noqa: ANN401 - PyYAML's events and loader
    line = event.start_mark.line + 1 if event.start_mark else 1
    match type(event).__name__:
        case "AliasEvent":
            raise YamlRefused(line, "aliases (*name) are not supported")
        case "DocumentStartEvent" if builder.lines:
            raise YamlRefused(line, "there is a second document after ---")
        case "MappingStartEvent" | "SequenceStartEvent" | "ScalarEvent" if event.tag is not None:
            raise YamlRefused(line, "tags (!name) are not supported")
        case "MappingStartEvent":
            builder.begin({}, line)
        case "SequenceStartEvent":
            builder.begin([], line)
        case "MappingEndEvent" | "SequenceEndEvent":
            builder.end()
        case "ScalarEvent":
            builder.scalar(_plain(event, words, line), line)
        case _:
            pass


def _plain(event: Any, words: Any, line: int) -> object:  # noqa: ANN401 - PyYAML's events and loader
    import yaml  # noqa: PLC0415 - as above

    if not event.implicit[0]:  # a quoted value is always a text
        return event.value
    try:
        tag = words.resolve(yaml.ScalarNode, event.value, event.implicit)
        return words.construct_object(yaml.ScalarNode(tag, event.value))
    except (ValueError, yaml.YAMLError):
        raise YamlRefused(line, "a number or date that cannot be read; write it in quotes") from None
