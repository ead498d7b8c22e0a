"""The records a surface is made of: listing, documentation, snapshots and permissions all come from them."""

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
    """Tell whether a member of an answer says nothing and is left out."""
    return not value


class Answer(BaseModel):
    """What every tool's structured answer has; money in it is decimal text."""

    success: bool = True
    # Not in the schema: that an answer may have remarks needs no explanation, and every client pays for each word.
    notes: SkipJsonSchema[list[str]] = Field(default=[], exclude_if=is_empty)
    """Sentences of the text that no other member says."""


class ListAnswer(Answer):
    """An answer with rows: how many there are, the limit they were cut at, and how to get what was left out."""

    count: int
    limit: int
    more: str | None = None


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)

PRIVATE_GROUPS = frozenset({"account", "orders"})
TRADE = "trade"
NEXT_PAGE = "mcp-binance-server/next"
"""Under it an answer's meta has the arguments of the page that follows, for programs that read all of them."""


def scope_of(group: str) -> Scope:
    """Return what a caller must be allowed to do to use a group of tools or a category of addresses."""
    if group == TRADE:
        return "trade"
    return "account:read" if group in PRIVATE_GROUPS else "market:read"


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's success: the same facts as text and as structure, for a client may show a model only one of them.

    A picture is attached instead: beside a structure it would not be seen.
    """

    text: str
    structured: Answer | None = None
    attached: tuple[types.ContentBlock, ...] = ()
    quiet: bool = False
    """Whether the data looked as if its market had fallen silent, so that it should be asked about."""
    warnings: tuple[str, ...] = ()
    """What speaks against the data; it is put into both channels."""
    meta: dict[str, Any] | None = None
    """What programs should know of it and no model reads."""


@dataclass(frozen=True)
class ToolSpec(Generic[ArgumentsT]):
    """One tool. `read_only` is always said; the description tells a model when to use it and when not.

    A `live` one belongs to the analyses of order books, which a setting can turn off.
    """

    name: str
    title: str
    description: str
    arguments: type[ArgumentsT]
    answer: type[Answer] | None
    """What its structure looks like; None for a tool that answers with a picture."""
    run: Callable[[Context, ArgumentsT], Awaitable[ToolAnswer]]
    read_only: bool
    toolset: str
    live: bool = False
    open_world: bool = True
    """Whether it asks anybody outside this machine."""
    destructive: bool = True
    """Whether what it writes can cost something; says nothing of a tool that reads."""
    idempotent: bool = False
    """Whether the same call again changes nothing more; likewise."""
    slow: bool = False
    """Whether it may take so long that it should tell a client which asked for it that it is still at work."""
    shared: bool = False
    """Whether equal calls within a second may have one answer: it is public, and says when it was true."""
    asks: bool = False
    """Whether it may ask its user before it does anything."""
    loads: tuple[str, ...] = ()
    """Modules that nothing else needs, loaded at the first call."""
    own_scope: Scope | None = None
    """What a caller needs, where that is not what the rest of the toolset needs."""
    scope_of_call: Callable[[ArgumentsT], Scope] | None = None
    """What one call needs, where that depends on its arguments."""
    view: str | None = None
    """The page that a host may show its answer in."""
    for_view_only: bool = False
    """Whether it is a page's to call and no model's."""

    @property
    def scope(self) -> Scope:
        return self.own_scope or scope_of(self.toolset)

    def scope_of(self, given: ArgumentsT) -> Scope:
        """Return what one call needs."""
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
                destructive_hint=None if self.read_only else self.destructive,  # says something only of what writes
                idempotent_hint=True if self.idempotent else None,
                open_world_hint=None if self.open_world else False,  # true is what a client assumes
            ),
            _meta=self._meta,
        )

    @property
    def _meta(self) -> dict[str, Any] | None:
        if self.for_view_only:
            return {"ui": {"visibility": ["app"]}}
        # The flat spelling is deprecated, and all that some hosts read.
        return None if self.view is None else {"ui": {"resourceUri": self.view}, "ui/resourceUri": self.view}


@dataclass(frozen=True)
class ResourceSpec:
    """One entry of the resource list."""

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
    """A family of addresses, one per value of its variable."""

    uri_template: str
    name: str
    description: str
    mime_type: str | None = "text/markdown"
    """What every match is; None where one match may be something else than another."""

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
    """One guided analysis. The list shows what MCP knows of an argument; the model validates all of it."""

    name: str
    description: str
    arguments: type[ArgumentsT]
    render: Callable[[Context, ArgumentsT], Awaitable[str]]
    toolset: str = "analysis"
    live: bool = False
    scope: Scope = "market:read"

    @cached_property
    def wire(self) -> types.Prompt:
        listed = [
            types.PromptArgument(name=name, description=field.description, required=field.is_required())
            for name, field in self.arguments.model_fields.items()
        ]
        return types.Prompt(name=self.name, description=self.description, arguments=listed)


@dataclass(frozen=True, slots=True)
class Page:
    """A resource's text, for how long, and for whom, a client may keep it, and what programs should know of it."""

    text: str
    keep_ms: int
    shareable: bool
    mime_type: str = "text/markdown"
    meta: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """A resource that is no text, and for how long a client may keep it."""

    data: bytes
    keep_ms: int
    shareable: bool
    mime_type: str


PageReader = Callable[[Context, str], Awaitable[Page | Picture]]
