"""What a handler is given: the services, and later who is asking."""

from dataclasses import dataclass

from mcp_binance_server.services.market import MarketService


@dataclass(frozen=True, slots=True)
class Context:
    """The services a handler may ask."""

    market: MarketService
