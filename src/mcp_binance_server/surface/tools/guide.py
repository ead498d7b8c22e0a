"""Tools that read playbooks, for clients that do not support resources."""

from typing import Annotated

from pydantic import Field

from mcp_binance_server.errors import echo
from mcp_binance_server.services.guide import GuideContent, GuideList
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ListAnswer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import Row, optional
from mcp_binance_server.surface.uris import GUIDE_SCHEME
from mcp_binance_server.surface.views.guide import (
    NO_DOCUMENTS,
    NOT_INSTRUCTIONS,
    content_page,
    guides_page,
    hits_page,
    no_hits,
)
from mcp_binance_server.surface.views.markdown import counted, next_step

MOST_ROWS = 500
Name = Annotated[str, Field(max_length=200)]
Glob = Annotated[str, Field(max_length=300)]
PATTERN = "Document id or glob: intro.md, position*, notes/**/*.md"


class GetContent(Arguments):
    context: Name = Field(description="Category, collection, or a guide:// address")
    pattern: Glob | None = optional(PATTERN)


class GetCategoryContent(Arguments):
    category: Name
    pattern: Glob | None = optional(PATTERN)


class GetCollectionContent(Arguments):
    collection: Name
    pattern: Glob | None = optional(PATTERN)


class DocumentRow(Row):
    uri: str
    title: str
    bytes: int
    source: str


class ContentAnswer(Answer):
    mime_type: str
    documents: list[DocumentRow]
    value: str = Field(description="Markdown, or multipart/mixed if several")


class ListGuides(Arguments):
    context: Name | None = optional("Only this category or collection")
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100
    offset: Annotated[int, Field(ge=0)] = 0


class GuideRow(Row):
    uri: str
    title: str
    description: str
    tags: list[str]
    bytes: int
    source: str


class ListGuidesAnswer(ListAnswer):
    total: int
    documents: list[GuideRow]
    categories: dict[str, str]
    collections: dict[str, str]


class SearchGuides(Arguments):
    query: Annotated[str, Field(min_length=2, max_length=200, description="Words; any may match")]
    context: Name | None = optional("Only this category or collection")
    limit: Annotated[int, Field(ge=1, le=20)] = 5


class HitRow(Row):
    uri: str
    title: str
    heading: str
    snippet: str
    score: float
    source: str


class SearchGuidesAnswer(ListAnswer):
    hits: list[HitRow]


def content_answer(content: GuideContent) -> ToolAnswer:
    rows = [
        DocumentRow(uri=each.uri, title=each.facts.title, bytes=len(each.data), source=each.source)
        for each in content.documents
    ]
    framed = content.framed
    notes = [NOT_INSTRUCTIONS] if content.has_user_text else []
    answer = ContentAnswer(mime_type=framed.mime_type, documents=rows, value=framed.text, notes=notes)
    told = "; ".join(f"{row.uri} ({row.title}, {row.bytes} bytes, {row.source})" for row in rows)
    page = content_page(framed.text, f"{framed.mime_type}: {told}", has_user_text=content.has_user_text)
    return ToolAnswer(page, answer)


async def get_content(context: Context, arguments: GetContent) -> ToolAnswer:
    if arguments.context[: len(GUIDE_SCHEME)].lower() == GUIDE_SCHEME and arguments.pattern is None:
        return content_answer(await context.guides.read(arguments.context))
    return content_answer(await context.guides.content(arguments.context, arguments.pattern))


async def get_category_content(context: Context, arguments: GetCategoryContent) -> ToolAnswer:
    return content_answer(await context.guides.category(arguments.category, arguments.pattern))


async def get_collection_content(context: Context, arguments: GetCollectionContent) -> ToolAnswer:
    return content_answer(await context.guides.collection(arguments.collection, arguments.pattern))


def list_answer(found: GuideList, arguments: ListGuides) -> ListGuidesAnswer:
    rows = [
        GuideRow(
            uri=each.uri,
            title=each.facts.title,
            description=each.facts.description,
            tags=[*each.facts.tags],
            bytes=each.stamp.size,
            source=each.source,
        )
        for each in found.entries
    ]
    after = arguments.offset + len(rows)
    context = None if arguments.context is None else echo(arguments.context)
    more = (
        next_step("list_guides", context=context, limit=arguments.limit, offset=after) if after < found.total else None
    )
    guides = found.snapshot.guides
    return ListGuidesAnswer(
        count=len(rows),
        limit=arguments.limit,
        more=more if rows else None,
        total=found.total,
        documents=rows,
        notes=[] if rows else [NO_DOCUMENTS],
        categories={each.name: each.description for each in guides.categories.values()},
        collections={each.name: each.description for each in guides.collections.values()},
    )


async def list_guides(context: Context, arguments: ListGuides) -> ToolAnswer:
    found = await context.guides.listed(arguments.context, arguments.limit, arguments.offset)
    answer = list_answer(found, arguments)
    told = "\n".join([*answer.notes, f"Documents: {counted(answer.count, answer.limit, answer.total)}"])
    return ToolAnswer(guides_page(found.snapshot.guides, found.entries, told, answer.more), answer)


async def search_guides(context: Context, arguments: SearchGuides) -> ToolAnswer:
    hits = await context.guides.search(arguments.query, arguments.context, arguments.limit)
    rows = [
        HitRow(
            uri=hit.entry.uri,
            title=hit.entry.facts.title,
            heading=hit.heading,
            snippet=hit.snippet,
            score=hit.score,
            source=hit.entry.source,
        )
        for hit in hits
    ]
    answer = SearchGuidesAnswer(
        count=len(rows), limit=arguments.limit, hits=rows, notes=[] if rows else [no_hits(arguments.query)]
    )
    return ToolAnswer(hits_page(hits, "\n".join([*answer.notes, counted(answer.count, answer.limit)])), answer)


GET_CONTENT = ToolSpec(
    name="get_content",
    title="Read playbooks",
    description=(
        "Read playbooks of a category or collection: all, one, or those that match a glob. Use it before sizing or "
        "ordering, and after an error. Not for market data, and not for finding playbooks: search_guides, list_guides."
    ),
    arguments=GetContent,
    answer=ContentAnswer,
    run=get_content,
    read_only=True,
    toolset="guide",
    open_world=False,
)
GET_CATEGORY_CONTENT = ToolSpec(
    name="get_category_content",
    title="Read a category of playbooks",
    description="As get_content, for a category only. Not for collections.",
    arguments=GetCategoryContent,
    answer=ContentAnswer,
    run=get_category_content,
    read_only=True,
    toolset="guide",
    open_world=False,
)
GET_COLLECTION_CONTENT = ToolSpec(
    name="get_collection_content",
    title="Read a collection of playbooks",
    description="As get_content, for a collection only. Not for categories.",
    arguments=GetCollectionContent,
    answer=ContentAnswer,
    run=get_collection_content,
    read_only=True,
    toolset="guide",
    open_world=False,
)
LIST_GUIDES = ToolSpec(
    name="list_guides",
    title="List playbooks",
    description="List playbooks with titles and addresses. Not for their text: get_content.",
    arguments=ListGuides,
    answer=ListGuidesAnswer,
    run=list_guides,
    read_only=True,
    toolset="guide",
    open_world=False,
)
SEARCH_GUIDES = ToolSpec(
    name="search_guides",
    title="Search playbooks",
    description="Find playbooks by words, best first, with the passage that fits. Not for symbols: search_symbols.",
    arguments=SearchGuides,
    answer=SearchGuidesAnswer,
    run=search_guides,
    read_only=True,
    toolset="guide",
    open_world=False,
)
