"""Specifications of tools, resources and prompts; lists, documentation, schemas and permissions derive from them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from mcp import types
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from mcp_binance_server.domain.access import Scope
from mcp_binance_server.surface.arguments import Arguments, answer_schema, listed_schema
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.uris import parse


def is_empty(value: object) -> bool:
    """Return True if a member of an answer is empty and can be left out."""
    return not value


class Answer(BaseModel):
    """Members of every structured answer. Amounts of money are decimal numbers as text."""

    success: bool = True
    # Omitted from the schema, because notes explain themselves and every client pays for the size of schemas.
    notes: SkipJsonSchema[list[str]] = Field(default=[], exclude_if=is_empty)
    """Sentences of the text whose facts no other member contains."""


class ListAnswer(Answer):
    """An answer with rows: the count of rows, the limit, and the call for further rows."""

    count: int
    limit: int
    more: str | None = None


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)

PRIVATE_GROUPS = frozenset({"account", "orders"})
TRADE = "trade"
NEXT_PAGE = "mcp-binance-server/next"
"""Key in an answer's `meta` for the arguments of the next page, for programs that read all pages."""


def scope_of(group: str) -> Scope:
    """Return the scope that a toolset or a URI category needs."""
    if group == TRADE:
        return "trade"
    return "account:read" if group in PRIVATE_GROUPS else "market:read"


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Result of a tool, with the same facts as text and as structured data.

    A client may show a model only one of the two. A picture is an attachment without structured data, because clients
    hide a picture next to structured data.
    """

    text: str
    structured: Answer | None = None
    attached: tuple[types.ContentBlock, ...] = ()
    quiet: bool = False
    """Whether the data suggests that trading has stopped, so that the market should be checked."""
    warnings: tuple[str, ...] = ()
    """Warnings about the data, which go into the text and the structured data."""
    meta: dict[str, Any] | None = None
    """Metadata for programs, not for models."""
    is_refused: bool = False
    """Whether the request was refused. The protocol reports a refusal as an error."""


@dataclass(frozen=True)
class ToolSpec(Generic[ArgumentsT]):
    """One tool, with its handler, models and properties.

    `read_only` has no default. The description must say when a model should use the tool and when not. `live` tools
    analyse order books, and a setting turns them off together.
    """

    name: str
    title: str
    description: str
    arguments: type[ArgumentsT]
    answer: type[Answer] | None
    """Model of the structured answer; None for a tool that answers with a picture."""
    run: Callable[[Context, ArgumentsT], Awaitable[ToolAnswer]]
    read_only: bool
    toolset: str
    live: bool = False
    open_world: bool = True
    """Whether the tool sends requests beyond this machine."""
    destructive: bool = True
    """Whether a write can cost money. Without meaning for a read-only tool."""
    idempotent: bool = False
    """Whether a repeated call changes nothing more. Without meaning for a read-only tool."""
    slow: bool = False
    """Whether the tool is slow and reports its progress to clients that ask for it."""
    shared: bool = False
    """Whether equal calls within a second can share one answer. Such an answer must be public and state its time."""
    asks: bool = False
    """Whether the tool can ask its user before it does anything."""
    loads: tuple[str, ...] = ()
    """Modules that only this tool needs, loaded at the first call."""
    own_scope: Scope | None = None
    """Scope of the tool, if it differs from its toolset's scope."""
    scope_of_call: Callable[[ArgumentsT], Scope] | None = None
    """Scope of one call, if it depends on the arguments."""
    view: str | None = None
    """Address of the page in which a host can show the answer."""
    for_view_only: bool = False
    """Whether only a page can call the tool, not a model."""

    @property
    def scope(self) -> Scope:
        return self.own_scope or scope_of(self.toolset)

    def scope_of(self, given: ArgumentsT) -> Scope:
        """Return the scope that a call with these arguments needs."""
        return self.scope if self.scope_of_call is None else self.scope_of_call(given)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return listed_schema(self.arguments)

    @cached_property
    def wire(self) -> types.Tool:
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=None if self.answer is None else answer_schema(self.answer),
            annotations=types.ToolAnnotations(
                read_only_hint=self.read_only,
                destructive_hint=None if self.read_only else self.destructive,  # has a meaning only for writes
                idempotent_hint=True if self.idempotent else None,
                open_world_hint=None if self.open_world else False,  # if it is absent, clients assume true
            ),
            _meta=self._meta,
        )

    @property
    def _meta(self) -> dict[str, Any] | None:
        if self.for_view_only:
            return {"ui": {"visibility": ["app"]}}
        # Deprecated flat key. Some hosts read no other key.
        return None if self.view is None else {"ui": {"resourceUri": self.view}, "ui/resourceUri": self.view}


@dataclass(frozen=True)
class ResourceSpec:
    """One resource with a fixed URI."""

    uri: str
    name: str
    description: str

    @property
    def toolset(self) -> str:
        return parse(self.uri).category

    @cached_property
    def wire(self) -> types.Resource:
        return types.Resource(uri=self.uri, name=self.name, description=self.description, mime_type="text/markdown")


@dataclass(frozen=True)
class TemplateSpec:
    """A URI template: one resource per value of its variable."""

    uri_template: str
    name: str
    description: str
    mime_type: str | None = "text/markdown"
    """MIME type of all matches; None if they can differ."""

    @property
    def toolset(self) -> str:
        return parse(self.uri_template).category

    @cached_property
    def wire(self) -> types.ResourceTemplate:
        return types.ResourceTemplate(
            uri_template=self.uri_template, name=self.name, description=self.description, mime_type=self.mime_type
        )


@dataclass(frozen=True)
class PromptSpec(Generic[ArgumentsT]):
    """One prompt. The list has only the fields that MCP defines. The arguments model validates all values."""

    name: str
    description: str
    arguments: type[ArgumentsT]
    render: Callable[[Context, ArgumentsT], Awaitable[str]]
    toolset: str = "analysis"
    live: bool = False
    scope: Scope = "market:read"
    tool_only: frozenset[str] = frozenset()
    """Arguments that only `get_analysis` lists."""

    @cached_property
    def wire(self) -> types.Prompt:
        listed = [
            types.PromptArgument(name=name, description=field.description, required=field.is_required())
            for name, field in self.arguments.model_fields.items()
            if name not in self.tool_only
        ]
        return types.Prompt(name=self.name, description=self.description, arguments=listed)


@dataclass(frozen=True, slots=True)
class Page:
    """Text of a resource, with its cache lifetime, cache scope and metadata for programs."""

    text: str
    keep_ms: int
    shareable: bool
    mime_type: str = "text/markdown"
    meta: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """Picture of a resource, with cache lifetime and cache scope."""

    data: bytes
    keep_ms: int
    shareable: bool
    mime_type: str


PageReader = Callable[[Context, str], Awaitable[Page | Picture]]
