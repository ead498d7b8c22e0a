"""Addresses under guide://, and patterns that match several documents."""

import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote, unquote

from mcp_binance_server.errors import GUIDE_HELP, InvalidScheme
from mcp_binance_server.guide.errors import GuideNotFound, GuideUriInvalid

SCHEME: Final = "guide"
HELP: Final = GUIDE_HELP
LONGEST = 2_048

Kind = Literal["help", "collection", "category", "document"]
FORMS: Final = (
    HELP,
    "guide://collection/{id}",
    "guide://category/{name}",
    "guide://category/{name}/{docId}",
    "guide://document/{context}/{docId}",
)

EXTENSIONS: Final = (".md", ".markdown", ".txt", ".json", ".yaml", ".yml", ".csv", ".toml")
MOST_SEGMENTS = 8
MOST_CHARACTERS = 256
MOST_STARS = 16
_ANY_EXTENSION = f"(?i:{'|'.join(map(re.escape, EXTENSIONS))})?"
_FOLDERS = "(?:[^/]++/)*"
_CHUNK_CHARACTER = re.compile(r"\[(!?)([^\]]*)\]|(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GuideAddress:
    """A parsed address.

    `name` is a category, collection or context. `doc_id` is a document or a pattern within it.
    """

    kind: Kind
    name: str = ""
    doc_id: str = ""


def parse_address(uri: str) -> GuideAddress:
    """Split an address into its parts. Each part is percent-decoded once.

    Raises:
        InvalidScheme: it is an address of another scheme.
        GuideUriInvalid: it has none of the five forms.
        GuideNotFound: a part cannot name a document, such as `..`.
    """
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme.lower() != SCHEME:
        raise InvalidScheme(provided_uri=uri)
    if len(uri) > LONGEST:
        raise GuideUriInvalid(uri=uri, reason=f"longer than {LONGEST} characters")
    if "?" in rest or "#" in rest:
        raise GuideUriInvalid(uri=uri, reason="it has a query or a fragment; write ? as %3F")
    kind, *raw = rest.removesuffix("/").split("/")
    return _address(uri, kind, [_decoded(uri, part) for part in raw])


def address_of(kind: Kind, *parts: str) -> str:
    """Format an address. Slashes in a document ID separate its folders."""
    return f"{SCHEME}://{kind}/" + "/".join(quote(each, safe="") for part in parts for each in part.split("/"))


def _address(uri: str, kind: str, parts: list[str]) -> GuideAddress:
    match kind, parts:
        case "help", []:
            return GuideAddress("help")
        case "collection", [name]:
            return GuideAddress("collection", name)
        case "category", [name, *rest]:
            return GuideAddress("category", name, "/".join(rest))
        case "document", [name, first, *rest]:
            return GuideAddress("document", name, "/".join((first, *rest)))
        case _:
            expected = [form for form in FORMS if form.startswith(f"{SCHEME}://{kind}")]
            raise GuideUriInvalid(uri=uri, reason=f"expected {' or '.join(expected or FORMS)}")


def _decoded(uri: str, part: str) -> str:
    try:
        decoded = unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise GuideUriInvalid(uri=uri, reason="a percent-encoded byte is not UTF-8") from None
    if decoded in {"", ".", ".."} or any(each in "/\\" or not each.isprintable() for each in decoded):
        raise GuideNotFound(uri=uri, what="Document", name=decoded)
    return decoded


class PatternRefused(ValueError):
    """A pattern with wrong syntax or beyond the limits. The message is the reason."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern."""

    expression: re.Pattern[str]

    def fits(self, doc_id: str) -> bool:
        return self.expression.fullmatch(f"{doc_id}/") is not None


def compile_pattern(text: str) -> Pattern:
    """Compile a pattern. Without a dot in its last part, it also matches names without their extension.

    Raises:
        PatternRefused: the pattern is malformed or beyond the limits.
    """
    if not 0 < len(text) <= MOST_CHARACTERS:
        raise PatternRefused(f"it has {len(text)} characters, allowed are 1 to {MOST_CHARACTERS}")
    if text.count("*") > MOST_STARS:
        raise PatternRefused(f"it has more than {MOST_STARS} stars")
    parts = text.split("/")
    if len(parts) > MOST_SEGMENTS:
        raise PatternRefused(f"it has more than {MOST_SEGMENTS} parts")
    if any(part in {"", ".", ".."} for part in parts):
        raise PatternRefused("a part of it is empty, '.' or '..'")
    # Every part ends in a slash, even the last one. Atomic groups keep the leftmost match between two **. Another match
    # would give the same result, so the regular expression never backtracks.
    runs = [""]
    for place, part in enumerate(parts, 1):
        if part == "**":
            runs.append("")
        else:
            runs[-1] += _part(part, any_extension=place == len(parts) and "." not in part) + "/"
    first, *rest = runs
    middle = "".join(f"(?>{_FOLDERS}?{run})" for run in rest[:-1])
    return Pattern(re.compile(f"{first}{middle}{_FOLDERS}{rest[-1]}" if rest else first))


def _part(part: str, *, any_extension: bool) -> str:
    first, *rest = [_chunk(chunk) for chunk in _split_at_stars(part)]
    ending = _ANY_EXTENSION if any_extension else ""
    if not rest:
        return first + ending
    middle = "".join(f"(?>[^/]*?{chunk})" for chunk in rest[:-1] if chunk)
    return f"{first}{middle}[^/]*{rest[-1]}{ending}"


def _split_at_stars(part: str) -> list[str]:
    chunks = [""]
    for found in _CHUNK_CHARACTER.finditer(part):
        if found[0] == "*":
            chunks.append("")
        else:
            chunks[-1] += found[0]
    return chunks


def _chunk(chunk: str) -> str:
    return "".join(_character(*found.groups()) for found in _CHUNK_CHARACTER.finditer(chunk))


def _character(negation: str | None, inside: str | None, literal: str | None) -> str:
    if literal == "[":
        raise PatternRefused("a '[' is not closed")
    if literal is not None:
        return "[^/]" if literal == "?" else re.escape(literal)
    if not inside:
        raise PatternRefused("a set in brackets is empty")
    return f"(?!/)[{'^' if negation else ''}{''.join(_ranges(inside))}]"


def _ranges(inside: str) -> list[str]:
    ranges: list[str] = []
    while inside:
        is_range = len(inside) > 2 and inside[1] == "-"
        first, last = inside[0], inside[2] if is_range else inside[0]
        if last < first:
            raise PatternRefused(f"the range {inside[:3]} runs backwards")
        ranges.append(f"{re.escape(first)}-{re.escape(last)}")
        inside = inside[3:] if is_range else inside[1:]
    return ranges
