"""Playbooks by address, context or search query."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import anyio
import anyio.to_thread

from mcp_binance_server.clock import Clock
from mcp_binance_server.guide.addresses import HELP, address_of, parse_address
from mcp_binance_server.guide.document import Document, Entry, Hit, LibrarySnapshot
from mcp_binance_server.guide.errors import GuideContentError, GuideContextNotFound, GuideError, GuideLimitExceeded
from mcp_binance_server.guide.help import MARKDOWN, Framed, framed, help_page
from mcp_binance_server.guide.library import Library
from mcp_binance_server.guide.resolver import Resolver, close_uris
from mcp_binance_server.guide.safe_files import UnreadableFile
from mcp_binance_server.guide.search import Index
from mcp_binance_server.state.flight import Flights
from mcp_binance_server.state.pace import LoopPace

# Disk reads run in threads, so that they do not block other callers. Each extra thread competes with the event loop.
MOST_READERS = 2
# Time in ms during which requests share one read. If the disk is slower, later requests start a new read.
READ_MS = 5_000
ResultT = TypeVar("ResultT")
Names = Literal["categories", "collections", "contexts"]


@dataclass(frozen=True, slots=True)
class GuideContent:
    """A framed text and the documents in it."""

    framed: Framed
    documents: tuple[Document, ...] = ()

    @property
    def has_user_text(self) -> bool:
        return any(document.source == "user" for document in self.documents)


@dataclass(frozen=True, slots=True)
class GuideList:
    """A page of the document list, the total count, and the snapshot with its categories and collections."""

    snapshot: LibrarySnapshot
    entries: tuple[Entry, ...]
    total: int


class GuideService:
    """Reader of guide content in worker threads. Answers show the current files. Concurrent requests share a read."""

    def __init__(self, library: Library, clock: Clock, pace: LoopPace) -> None:
        self._library = library
        self._pace = pace
        self.flights: Flights[GuideContent] = Flights(clock)
        self._index = Index(library)
        self._readers = anyio.CapacityLimiter(MOST_READERS)
        self._help: tuple[LibrarySnapshot, GuideContent] | None = None

    async def close(self) -> None:
        """Cancel the reads in flight and close the search index."""
        await self.flights.close()
        self._index.close()

    async def read(self, uri: str) -> GuideContent:
        """Return the content at an address.

        Raises:
            InvalidScheme: the address is not a guide:// address.
            GuideError: the address matches nothing or too much, or the content is unreadable.
        """
        if uri == HELP and (snapshot := self._library.at_hand()) and self._help and self._help[0] is snapshot:
            return self._help[1]
        return await self._shared(f"read {uri}", lambda: self._read(uri))

    async def content(self, context: str, pattern: str | None = None) -> GuideContent:
        """Return the documents of a category. If there is no such category, return the documents of the collection."""
        uri = address_of("category", context, *_some(pattern))
        return await self._shared(
            f"context {uri}", lambda: self._chosen(uri, lambda asked: asked.context(context, pattern))
        )

    async def category(self, name: str, pattern: str | None = None) -> GuideContent:
        uri = address_of("category", name, *_some(pattern))
        return await self._shared(
            f"category {uri}", lambda: self._chosen(uri, lambda asked: asked.category(name, pattern))
        )

    async def collection(self, name: str, pattern: str | None = None) -> GuideContent:
        uri = address_of("collection", name)
        return await self._shared(
            f"collection {uri} {pattern}", lambda: self._chosen(uri, lambda asked: asked.collection(name, pattern))
        )

    async def listed(self, context: str | None, limit: int, offset: int) -> GuideList:
        """Return documents ordered by category and path. `context` limits them to one context."""

        def run() -> GuideList:
            snapshot = self._library.snapshot()
            entries = self._of_context(snapshot, context)
            return GuideList(snapshot, tuple(entries[offset : offset + limit]), len(entries))

        return await self._in_thread(run)

    async def search(self, query: str, context: str | None, limit: int) -> list[Hit]:
        """Return the documents that best match the words of a query."""

        def run() -> list[Hit]:
            snapshot = self._library.snapshot()
            return self._index.search(snapshot, query, self._of_context(snapshot, context), limit)

        return await self._in_thread(run)

    async def names(self, kind: Names) -> list[str]:
        """Return the names of categories, collections, or both."""

        def run() -> list[str]:
            guides = self._library.snapshot().guides
            categories = list(guides.categories) if kind != "collections" else []
            collections = list(guides.collections) if kind != "categories" else []
            return sorted({*categories, *collections})

        return await self._in_thread(run)

    async def doc_ids(self, context: str) -> list[str]:
        """Return the document ids of a context. The list is empty for an unknown context."""

        def run() -> list[str]:
            try:
                found = self._of_context(self._library.snapshot(), context)
            except GuideContextNotFound:
                return []
            return sorted({entry.doc_id for entry in found})

        return await self._in_thread(run)

    async def _shared(self, asked: str, run: Callable[[], GuideContent]) -> GuideContent:
        # Answers can be megabytes, so concurrent requests share one read. A request after the end of a read starts a
        # new read.
        content = await self.flights.join(asked, lambda: self._in_thread(run), lock_ms=READ_MS)
        await self._pace.step()  # all waiting requests have been woken at once
        return content

    async def _in_thread(self, run: Callable[[], ResultT]) -> ResultT:
        return await anyio.to_thread.run_sync(run, limiter=self._readers)

    def _read(self, uri: str) -> GuideContent:
        try:
            address = parse_address(uri)
        except GuideError as error:
            error.valid_uris = close_uris(self._library.snapshot(), uri)
            raise
        if address.kind == "help":
            return self._help_on(self._library.snapshot())
        return self._chosen(uri, lambda asked: asked.resolve(address))

    def _help_on(self, snapshot: LibrarySnapshot) -> GuideContent:
        # Any change creates a new snapshot object. So the page is never older than the files.
        if self._help is None or self._help[0] is not snapshot:
            self._help = snapshot, GuideContent(Framed(MARKDOWN, help_page(snapshot)))
        return self._help[1]

    def _chosen(self, uri: str, choose: Callable[[Resolver], Sequence[Entry]]) -> GuideContent:
        snapshot = self._library.snapshot()
        limits = snapshot.guides.limits
        documents: list[Document] = []
        size = 0
        chosen = choose(Resolver(snapshot, uri))
        for entry in chosen:
            try:
                document = self._library.read(snapshot, entry)
            except UnreadableFile as error:
                reason = f"{entry.category}/{entry.doc_id}: {error}"
                if len(chosen) == 1:
                    raise GuideContentError(uri=uri, reason=reason, valid_uris=close_uris(snapshot, uri)) from None
                document = _gap(entry, reason)
            size += len(document.data)
            if size > limits.response_bytes:
                raise GuideLimitExceeded(
                    uri=uri, found=f"more than {limits.response_bytes:,} bytes", allowed=f"{limits.response_bytes:,}"
                )
            documents.append(document)
        return GuideContent(framed(documents), tuple(documents))

    def _of_context(self, snapshot: LibrarySnapshot, context: str | None) -> list[Entry]:
        asked = Resolver(snapshot, address_of("category", context or ""))
        found = snapshot.everything if context is None else asked.everything_in(context)
        return [entry for entry in found if snapshot.is_small_enough(entry)]


def _gap(entry: Entry, reason: str) -> Document:
    """Return the placeholder for a document that cannot be read."""
    modified_ms = entry.stamp.modified_ns // 1_000_000
    body = f"_Unavailable: {reason}_\n"
    return Document(entry.category, entry.doc_id, entry.source, entry.facts, body, modified_ms)


def _some(pattern: str | None) -> tuple[str, ...]:
    return () if pattern is None else (pattern,)
