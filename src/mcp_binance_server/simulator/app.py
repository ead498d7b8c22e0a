"""The simulator as one ASGI application: REST API, market streams, WebSocket API, and beside them the controls."""

from starlette.applications import Starlette
from starlette.routing import Mount

from mcp_binance_server.simulator.control import control_app
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.gateway import Gateway
from mcp_binance_server.simulator.sockets import Doors


def build_app(exchange: SimulatedExchange) -> Starlette:
    """Serve the exchange under /api/v3, /ws, /stream and /ws-api/v3, and its controls under /control.

    Run uvicorn with `date_header=False`: the Date header must come from the exchange's clock.
    """
    return Starlette(
        routes=[
            *Doors(exchange).routes(),
            Mount("/control", app=control_app(exchange)),
            Mount("/", app=Gateway(exchange)),
        ],
    )
