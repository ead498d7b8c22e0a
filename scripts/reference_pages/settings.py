"""Reference page of all settings, generated from the settings model."""

from mcp_binance_server.analytics.tuning import threshold_table
from mcp_binance_server.settings import ANALYTICS, ANALYTICS_PREFIX, Settings
from mcp_binance_server.surface.arguments import plain_schema
from reference_pages.markdown import code, page, table
from reference_pages.schemas import fields_of

BEGINNING = """All settings are environment variables, read once at the start; an empty one counts as not set. A value
that cannot be used stops the start with a message that names the variable and shows no key or secret. For the storage
of keys see [keys](../how-to/keys.md)."""
# Types that a schema describes badly: a user types a list as comma-separated words, and a secret as text.
LISTS = "words, separated by commas"
ELSEWHERE = "none"


def settings_page() -> str:
    schema = plain_schema(Settings)
    rows = [
        (code(each.path), _kind(each.kind), _default(each.path, each.default), each.meaning)
        for each in fields_of(schema)
    ]
    return page(
        "Settings",
        BEGINNING,
        table(("Variable", "May be", "Default", "Meaning"), rows),
        "## Thresholds of the analyses",
        "For their purpose and combinations see [thresholds](../analytics.md).",
        threshold_table(ANALYTICS_PREFIX),
    )


def _kind(kind: str) -> str:
    return LISTS if kind.startswith("list of") else kind.removesuffix(" or null").replace("object", "text")


def _default(name: str, default: str) -> str:
    if name == "MCP_BINANCE_STATE_URL":  # the schema masks it, because it is a secret
        return code("memory://")
    if name == ANALYTICS:
        return "the project's own"
    return "all" if name == "MCP_BINANCE_TOOLSETS" else ELSEWHERE if default in {"", "`()`", "`[]`"} else default
