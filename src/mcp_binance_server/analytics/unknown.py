"""A measure that has no value yet, or none at all."""

from dataclasses import dataclass

from mcp_binance_server.analytics.envelope import Progress, WhyNull


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why there is no value, and how far it has come where it is still collecting."""

    why_null: WhyNull
    progress: Progress | None = None
