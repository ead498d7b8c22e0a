"""guide:// addresses: how they are read and written."""

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


@dataclass(frozen=True, slots=True)
class GuideAddress:
    """A parsed address. `name` is a category, collection or context; `doc_id` a document or pattern in it."""

    kind: Kind
    name: str = ""
    doc_id: str = ""


def parse_address(uri: str) -> GuideAddress:
    """Split an address into its parts, each percent-decoded once.

    Raises:
        InvalidScheme: it is an address of another scheme.
        GuideUriInvalid: it is none of the five forms.
        GuideNotFound: a part of it can name no document, such as `..`.
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
    """Write an address; slashes inside a document id separate its folders."""
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
