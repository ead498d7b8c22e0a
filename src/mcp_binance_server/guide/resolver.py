"""Resolution of addresses to documents. Exact names come before patterns, categories before collections."""

from collections.abc import Iterable
from dataclasses import dataclass

from mcp_binance_server.errors import echo
from mcp_binance_server.guide.addresses import HELP, GuideAddress, Pattern, PatternRefused, address_of, compile_pattern
from mcp_binance_server.guide.config import Collection, compiled
from mcp_binance_server.guide.document import Entry, LibrarySnapshot
from mcp_binance_server.guide.errors import (
    GuideContextNotFound,
    GuideError,
    GuideLimitExceeded,
    GuideNotFound,
    GuideNothingMatches,
    GuidePatternInvalid,
)

CLOSE_URIS = 3


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolver for one request and one snapshot. `uri` is the requested address."""

    snapshot: LibrarySnapshot
    uri: str

    def resolve(self, address: GuideAddress) -> tuple[Entry, ...]:
        """Return the documents of an address. An empty category or collection has no documents.

        Raises:
            GuideError: the address names no document, or too many documents.
        """
        match address.kind:
            case "collection":
                return self.collection(address.name)
            case "category":
                return self.category(address.name, address.doc_id or None)
            case "document":
                return (self.document(address.name, address.doc_id),)
            case "help":
                return ()

    def category(self, name: str, pattern: str | None = None) -> tuple[Entry, ...]:
        category = self.snapshot.guides.categories.get(name)
        if category is None:
            raise self._refusal(GuideNotFound(uri=self.uri, what="Category", name=name))
        return self._limited(self._of((name,), pattern, category.patterns), pattern)

    def collection(self, name: str, pattern: str | None = None) -> tuple[Entry, ...]:
        collection = self.snapshot.guides.collections.get(name)
        if collection is None:
            raise self._refusal(GuideNotFound(uri=self.uri, what="Collection", name=name))
        return self._limited(self._of(self._names(collection), pattern, collection.patterns), pattern)

    def context(self, name: str, pattern: str | None = None) -> tuple[Entry, ...]:
        """Resolve a name as a category, or else as a collection.

        The collection is also used if the category has no match.
        """
        self._places(name)
        guides = self.snapshot.guides
        if name not in guides.categories:
            return self.collection(name, pattern)
        try:
            return self.category(name, pattern)
        except GuideNothingMatches:
            if name not in guides.collections:
                raise
            return self.collection(name, pattern)

    def document(self, name: str, doc_id: str) -> Entry:
        """Return the document with this ID.

        The category is searched first, then the categories of the collection in order.
        """
        places = self._places(name)
        found = next((entry for place in places if (entry := self._exact(place, doc_id))), None)
        if found is None:
            raise self._refusal(GuideNotFound(uri=self.uri, what="Document", name=doc_id))
        return found

    def everything_in(self, context: str) -> tuple[Entry, ...]:
        """Return every document of a category or collection. Their patterns are ignored."""
        is_category = context in self.snapshot.guides.categories
        places = (context,) if is_category else self._places(context)
        return _once(entry for place in places for entry in self.snapshot.entries.get(place, {}).values())

    def _places(self, context: str) -> tuple[str, ...]:
        guides = self.snapshot.guides
        collection = guides.collections.get(context)
        if context not in guides.categories and collection is None:
            raise self._refusal(GuideContextNotFound(uri=self.uri))
        return (context, *(self._names(collection) if collection else ()))

    def _names(self, collection: Collection) -> tuple[str, ...]:
        return tuple(category.name for category in self.snapshot.guides.categories_of(collection))

    def _exact(self, category: str, doc_id: str) -> Entry | None:
        return self.snapshot.entries.get(category, {}).get(doc_id)

    def _of(self, names: Iterable[str], pattern: str | None, own: tuple[str, ...] | None) -> tuple[Entry, ...]:
        names = tuple(names)
        if pattern is None:
            return _once(
                entry
                for name in names
                for entry in self._fitting(name, compiled(own or self.snapshot.guides.categories[name].patterns))
            )
        exact = [entry for name in names if (entry := self._exact(name, pattern))]
        try:
            fitting = (compile_pattern(pattern),)
        except PatternRefused as refused:
            if exact:  # the name of a document is not always a valid pattern
                return tuple(exact)
            raise self._refusal(GuidePatternInvalid(uri=self.uri, reason=str(refused))) from None
        return _once([*exact, *(entry for name in names for entry in self._fitting(name, fitting))])

    def _fitting(self, name: str, patterns: tuple[Pattern, ...]) -> list[Entry]:
        entries = self.snapshot.entries.get(name, {})
        return [entry for doc_id, entry in entries.items() if any(pattern.fits(doc_id) for pattern in patterns)]

    def _limited(self, found: tuple[Entry, ...], pattern: str | None) -> tuple[Entry, ...]:
        if pattern is not None and not found:
            raise self._refusal(GuideNothingMatches(uri=self.uri, pattern=pattern))
        most = self.snapshot.guides.limits.matches
        if len(found) > most:
            raise self._refusal(GuideLimitExceeded(uri=self.uri, found=f"{len(found)} match", allowed=str(most)))
        return found

    def _refusal(self, error: GuideError) -> GuideError:
        error.valid_uris = close_uris(self.snapshot, self.uri)
        return error


def close_uris(snapshot: LibrarySnapshot, uri: str) -> tuple[str, ...]:
    """Return existing addresses with a similar spelling."""
    # Imported late: only a mistake needs it, and the import would slow down every start.
    from difflib import get_close_matches  # noqa: PLC0415

    guides = snapshot.guides
    is_document = uri.lower().startswith("guide://document/")
    known = [
        HELP,
        *(address_of("category", name) for name in guides.categories),
        *(address_of("collection", name) for name in guides.collections),
        *(entry.uri.replace("category", "document", 1) if is_document else entry.uri for entry in snapshot.everything),
    ]
    return tuple(get_close_matches(echo(uri), known, CLOSE_URIS))


def _once(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    found: dict[object, Entry] = {}
    for entry in entries:
        found.setdefault((entry.root, entry.parts), entry)
    return tuple(found.values())
