"""Reference page of all errors that clients can receive, generated from the error classes."""

import re
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module

from mcp_binance_server import errors
from reference_pages.markdown import code, page, table

BEGINNING = """A resource or prompt that fails is a JSON-RPC error; its `data` has the fields below. A tool that
fails is a result with `isError: true`, whose structured content has `success: false`, the message as `error`, `code`
and the same fields. Every error also has `error_type`, `retryable`, `recovery_suggestion` and `guide`, the address of a
helpful playbook. Revision 2026-07-28 of MCP reserves -32002: there it is sent as 32002.

A defect of the server itself is `internal` (-32603) with only an `error_id`, which is also in the log. An unusable
setting stops the start with a sentence on standard error and exit code 2. `outcome_unknown` is not an error of a tool:
an order with an unknown outcome is an answer of `place_order`."""
# Remove file names of classes, which readers of the page do not need.
WHERE = re.compile(r"; (?:all of them |with the rest )?in [\w/]+\.py")
READ_IT = "See `explanation` and `recovery_suggestion`, which depend on the refused request"
# Import the other modules with errors, so that their classes are found.
ELSEWHERE = (
    *(f"{package}.errors" for package in ("charts", "feeds", "guide", "sessions", "trading", "transports.grpc")),
    "exchange.spot.order_counts",
)
# Base classes that are never raised. Their prefix is the subject in the texts of some subclasses.
FAMILIES = {"ExchangeError": "Binance: ", "ChartServiceError": "chart-img.com: ", "GuideError": ""}
# Fields that `data()` adds to those of the class.
ADDED = {"chart_limit_reached": ("retryAfter",), "invalid_chart_config": ("explanation",)}
# Fields that `data()` removes.
TAKEN = {"too_many_orders": ("current_weight", "weight_limit")}


def errors_page() -> str:
    for package in ELSEWHERE:
        import_module(f"mcp_binance_server.{package}")
    told = _tree()
    kinds = sorted(_raised(errors.AppError), key=lambda kind: (-kind.code, kind.error_type, kind.__name__))
    rows = (
        (
            code(kind.code),
            code(kind.error_type),
            FAMILIES.get(kind.__base__.__name__ if kind.__base__ else "", "")
            + told[kind.__name__].removeprefix("definite: "),
            "yes" if kind.retryable else "no",
            kind.recovery_suggestion or READ_IT,
            ", ".join(map(code, _told(kind))),
        )
        for kind in kinds
    )
    head = ("Code", "`error_type`", "When", "Retry", "What to do", "Fields")
    return page("Errors", BEGINNING, table(head, rows), "## Playbooks", _playbooks(kinds))


def _raised(kind: type[errors.AppError]) -> Iterator[type[errors.AppError]]:
    for child in kind.__subclasses__():
        if child is not errors.SettingsError and child.__name__ not in FAMILIES:
            yield child
        yield from _raised(child)


def _told(kind: type[errors.AppError]) -> Iterator[str]:
    taken = TAKEN.get(kind.error_type, ())
    yield from (each.name for each in fields(kind) if each.name not in taken)
    yield from ADDED.get(kind.error_type, ())


def _tree() -> dict[str, str]:
    """Return the text of each class, read from the tree in the docstring of `errors`."""
    found = re.findall(r"^[│├└─ ]+(\w+) +(?:-\d+ +)?(\S.*)$", errors.__doc__ or "", re.MULTILINE)
    return {name: WHERE.sub("", text) for name, text in found}


def _playbooks(kinds: list[type[errors.AppError]]) -> str:
    pages = sorted({kind.guide for kind in kinds})
    leading = {each: sorted({code(kind.error_type) for kind in kinds if kind.guide == each}) for each in pages}
    return table(("Page", "Errors that name it"), ((code(each), ", ".join(types)) for each, types in leading.items()))
