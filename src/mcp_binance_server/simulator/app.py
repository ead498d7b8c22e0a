"""The simulator as one ASGI application: the REST API, and beside it the control endpoints."""

from starlette.applications import Starlette
from starlette.routing import Mount

from mcp_binance_server.simulator.control import control_app
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.gateway import Gateway


def build_app(exchange: SimulatedExchange) -> Starlette:
    """Serve the exchange under /api/v3 and its controls under /control.

    Run uvicorn with `date_header=False`: the Date header must come from the exchange's clock.
    """
    return Starlette(
        routes=[Mount("/control", app=control_app(exchange)), Mount("/", app=Gateway(exchange))],
    )
