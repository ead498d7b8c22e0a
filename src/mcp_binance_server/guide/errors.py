"""Errors under guide://. The tree of all errors is in `mcp_binance_server.errors`."""

from dataclasses import dataclass, fields
from typing import ClassVar

from mcp_binance_server.errors import GUIDE_HELP, AppError, echo


@dataclass(kw_only=True, eq=False)
class GuideError(AppError):
    """Base of all guide errors. `valid_uris` are existing addresses similar to the requested one."""

    code: ClassVar[int] = -32404
    error_type: ClassVar[str] = "guide_error"
    recovery_suggestion: ClassVar[str] = "Use one of valid_uris, or read guide://help for all addresses"
    guide: ClassVar[str] = GUIDE_HELP

    uri: str
    valid_uris: tuple[str, ...] = ()
    help: str = GUIDE_HELP

    def __post_init__(self) -> None:
        for item in fields(self):
            if isinstance(said := getattr(self, item.name), str):
                setattr(self, item.name, echo(said))


@dataclass(kw_only=True, eq=False)
class GuideUriInvalid(GuideError):
    error_type: ClassVar[str] = "invalid_uri"

    reason: str

    @property
    def message(self) -> str:
        return f"Invalid guide URI: {self.reason}"


@dataclass(kw_only=True, eq=False)
class GuideNotFound(GuideError):
    error_type: ClassVar[str] = "resource_not_found"

    what: str
    name: str

    @property
    def message(self) -> str:
        return f"{self.what} not found: {self.name}"


@dataclass(kw_only=True, eq=False)
class GuideContextNotFound(GuideError):
    error_type: ClassVar[str] = "context_not_found"

    @property
    def message(self) -> str:
        return "Context not found"


@dataclass(kw_only=True, eq=False)
class GuidePatternInvalid(GuideError):
    error_type: ClassVar[str] = "invalid_pattern"

    reason: str

    @property
    def message(self) -> str:
        return f"Invalid pattern: {self.reason}"


@dataclass(kw_only=True, eq=False)
class GuideNothingMatches(GuideError):
    error_type: ClassVar[str] = "no_matches"

    pattern: str

    @property
    def message(self) -> str:
        return f"Document not found: nothing matches {self.pattern}"


@dataclass(kw_only=True, eq=False)
class GuideContentError(GuideError):
    code: ClassVar[int] = -32603
    error_type: ClassVar[str] = "content_error"
    recovery_suggestion: ClassVar[str] = "Ask for another document; the owner of the guide folder must fix this one"

    reason: str

    @property
    def message(self) -> str:
        return f"Content retrieval failed: {self.reason}"


@dataclass(kw_only=True, eq=False)
class GuideLimitExceeded(GuideError):
    code: ClassVar[int] = -32603
    error_type: ClassVar[str] = "limit_exceeded"
    recovery_suggestion: ClassVar[str] = "Narrow the pattern, or ask for one document of list_guides"

    found: str
    allowed: str

    @property
    def message(self) -> str:
        return f"Too many documents: {self.found}, {self.allowed} allowed. Narrow the pattern."
