"""Parser of the user's guide.yaml: strict and typed. Each mistake has its line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from mcp_binance_server.guide.addresses import MOST_SEGMENTS, compile_pattern
from mcp_binance_server.guide.config import (
    BUILTIN_CATEGORIES,
    DEFAULT_PATTERNS,
    EVERY,
    Category,
    Collection,
    Guides,
    Limits,
    builtin_guides,
    with_builtins,
)
from mcp_binance_server.guide.safe_files import UnreadableFile, read_beneath
from mcp_binance_server.guide.strict_yaml import Located, YamlRefused, load_yaml
from mcp_binance_server.words import one_line

LARGEST_BYTES = 262_144
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,29}")
_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class ConfigMistake:
    """An unusable part of the file. `line` counts from one, and zero means the whole file."""

    line: int
    text: str


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("a name has 1 to 30 letters, digits, '-' and '_', and starts with a letter or digit")
    return text


def _pattern(text: str) -> str:
    compile_pattern(text)
    return text


def _folder(text: str) -> str:
    normal = text.replace("\\", "/").rstrip("/").removeprefix("./")
    if normal == ".":
        return ""
    parts = normal.split("/")
    if text.startswith(("/", "\\")) or PureWindowsPath(text).drive or "\x00" in text:
        raise ValueError("must be relative to the roots")
    if len(parts) > MOST_SEGMENTS or any(part in {"", ".."} or part.startswith(".") for part in parts):
        raise ValueError("must name folders below the roots, without '..', leading dots or empty parts")
    return normal


Patterns = Annotated[
    tuple[Annotated[str, AfterValidator(_pattern)], ...], Field(min_length=1, max_length=16, strict=False)
]
Line = Annotated[str, StringConstraints(max_length=200), AfterValidator(one_line)]
Name = Annotated[str, AfterValidator(_name)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class CategoryPart(_Part):
    dir: Annotated[str, AfterValidator(_folder)] | None = None
    patterns: Patterns = DEFAULT_PATTERNS
    description: Line | None = None


class CollectionPart(_Part):
    categories: Annotated[tuple[Name | Literal["*"], ...], Field(min_length=1)]
    patterns: Patterns | None = None
    description: Line = ""


class LimitsPart(_Part):
    document_bytes: Annotated[int, Field(ge=1, le=_LIMITS.document_bytes)] = _LIMITS.document_bytes
    response_bytes: Annotated[int, Field(ge=1, le=_LIMITS.response_bytes)] = _LIMITS.response_bytes
    matches: Annotated[int, Field(ge=1, le=_LIMITS.matches)] = _LIMITS.matches


class GuideFile(_Part):
    version: Literal[1]
    roots: tuple[str, ...] = ()
    categories: dict[Name, CategoryPart | None] = {}
    collections: dict[Name, CollectionPart] = {}
    disable_builtin: tuple[str, ...] = ()
    limits: LimitsPart = LimitsPart()
    watch: bool = True

    @model_validator(mode="after")
    def _names_differ_by_more_than_case(self) -> Self:
        for kind in (self.categories, self.collections):
            folded = [name.lower() for name in kind]
            if twice := sorted({name for name in folded if folded.count(name) > 1}):
                raise ValueError(f"names differ only in case: {', '.join(twice)}")
        return self


def read_config(path: Path) -> tuple[Guides | None, tuple[ConfigMistake, ...]]:
    """Read a configuration file. Return the configuration, or else the mistakes in the file."""
    try:
        file = path.resolve()  # links are allowed, because such files are often kept elsewhere
        text = read_beneath(file.parent, (file.name,), LARGEST_BYTES).decode("utf-8-sig")
    except (UnreadableFile, OSError, RuntimeError) as error:
        reason = error if isinstance(error, UnreadableFile) else "it cannot be opened"
        return None, (ConfigMistake(0, f"the file cannot be read: {reason}"),)
    except UnicodeDecodeError:
        return None, (ConfigMistake(0, "the file is not UTF-8"),)
    return parse_config(text, path.parent)


def parse_config(text: str, folder: Path) -> tuple[Guides | None, tuple[ConfigMistake, ...]]:
    """Parse the text of a configuration. Relative roots are resolved against `folder`."""
    try:
        located = load_yaml(text)
    except YamlRefused as refused:
        return None, (ConfigMistake(refused.line, refused.problem),)
    if not isinstance(located.value, dict):
        return None, (ConfigMistake(1, "the file must hold keys such as version, roots and categories"),)
    try:
        file = GuideFile.model_validate(located.value)  # pyright: ignore[reportUnknownMemberType] - YAML, checked here
    except ValidationError as error:
        return None, _mistakes(error, located)
    if unknown := _unknown_categories(file, located):
        return None, unknown
    return _guides(file, folder), ()


def _mistakes(error: ValidationError, located: Located) -> tuple[ConfigMistake, ...]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    paths = [_path(each["loc"], located) for each in found]
    mistakes: dict[ConfigMistake, None] = {}
    for each, path in zip(found, paths, strict=True):
        if any(len(other) > len(path) and other[: len(path)] == path for other in paths):
            continue  # skip follow-up errors: without its invalid items a list is also too short
        text = "unknown key" if each["type"] == "extra_forbidden" else each["msg"].removeprefix("Value error, ")
        where = ".".join(map(str, path)) or "the file"
        mistakes[ConfigMistake(located.line(path), f"{where}: {text[0].lower()}{text[1:]}")] = None
    return tuple(sorted(mistakes, key=lambda mistake: mistake.line))


def _path(location: tuple[str | int, ...], located: Located) -> tuple[str | int, ...]:
    # pydantic adds path steps that are not in the file, such as [key] or a branch of a union. Those have no line.
    steps: tuple[str | int, ...] = ()
    for step in location:
        if (*steps, step) in located.lines or (step == location[-1] and isinstance(step, str) and step.isidentifier()):
            steps = (*steps, step)
    return steps


def _unknown_categories(file: GuideFile, located: Located) -> tuple[ConfigMistake, ...]:
    known = {*file.categories, *(each.name for each in BUILTIN_CATEGORIES)} - (
        {*file.disable_builtin} - {*file.categories}
    )
    mistakes = [
        ConfigMistake(
            located.line(("collections", name, "categories", place)),
            f"collections.{name}.categories: "
            + (f"{member} is a collection; name categories" if member in file.collections else f"no category {member}"),
        )
        for name, collection in file.collections.items()
        for place, member in enumerate(collection.categories)
        if member != EVERY and member not in known
    ]
    shipped = {each.name for each in BUILTIN_CATEGORIES}
    mistakes += [
        ConfigMistake(
            located.line(("disable_builtin", place)), f"disable_builtin: {one_line(name, 40)} is not built in"
        )
        for place, name in enumerate(file.disable_builtin)
        if name not in shipped
    ]
    return tuple(mistakes)


def _guides(file: GuideFile, folder: Path) -> Guides:
    shipped: Mapping[str, Category] = builtin_guides().categories
    categories = {name: _category(name, part or CategoryPart(), shipped) for name, part in file.categories.items()}
    collections = {
        name: Collection(name, part.description, part.categories, part.patterns)
        for name, part in file.collections.items()
    }
    guides = with_builtins(categories, collections, frozenset(file.disable_builtin))
    is_confusing = "help" in {*categories, *collections}
    return replace(
        guides,
        roots=tuple(_root(text, folder) for text in file.roots),
        limits=Limits(**file.limits.model_dump()),
        watch=file.watch,
        warnings=("a category or collection named help is easily mistaken for guide://help",) if is_confusing else (),
    )


def _category(name: str, part: CategoryPart, shipped: Mapping[str, Category]) -> Category:
    described = part.description
    if described is None:
        described = shipped[name].description if name in shipped else ""
    folder = name if part.dir is None else part.dir
    return Category(name, described, tuple(step for step in folder.split("/") if step), part.patterns)


def _root(text: str, folder: Path) -> Path:
    try:
        return folder / Path(text).expanduser()
    except RuntimeError:  # the home folder is unknown
        return folder / text
