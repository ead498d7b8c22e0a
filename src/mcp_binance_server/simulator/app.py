"""The simulator as one ASGI application: a Binance, a chart-img, and beside them the controls."""

from starlette.applications import Starlette
from starlette.routing import Mount

from mcp_binance_server.simulator.chartimg import ChartImgGateway
from mcp_binance_server.simulator.control import control_app
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.gateway import Gateway
from mcp_binance_server.simulator.sockets import Doors


def build_app(exchange: SimulatedExchange) -> Starlette:
    """Serve the exchange under /api/v3, /ws, /stream and /ws-api/v3, and its controls under /control.

    Chart-img has its own paths, /v1 to /v3, and two of ours: /chart-docs, the documentation, and /r2, stored images.

    Run uvicorn with `date_header=False`: the Date header must come from the exchange's clock.
    """
    return Starlette(
        routes=[
            *Doors(exchange).routes(),
            Mount("/control", app=control_app(exchange)),
            *ChartImgGateway(exchange).routes(),
            Mount("/", app=Gateway(exchange)),
        ],
    )
