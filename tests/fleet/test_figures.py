"""What a process counts is told when it matters most: while the state server is away."""

import re

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import read_settings
from support.desk import NETWORK, Loop
from support.state_server import StateServer
from support.webapp import assembled, http_client


async def test_figures_are_told_without_the_state_server_and_what_only_it_knows_is_not_a_number(
    server: StateServer,
) -> None:
    settings = read_settings({"MCP_BINANCE_STATE_URL": server.url})
    loop = Loop(SimulatedExchange(SystemClock()))
    async with (
        running_app(settings, network=NETWORK, transport=loop) as app,
        assembled(app) as assembly,
        http_client(assembly) as http,
    ):
        known = await http.get("/metrics")
        server.kill()
        unknown = await http.get("/metrics")

    line = re.compile(r'^mcp_binance_upstream_weight_used\{ledger="spot"\} (\S+)$', re.MULTILINE)
    weights = [line.findall(each.text) for each in (known, unknown)]
    assert (known.status_code, unknown.status_code) == (200, 200)
    assert weights == [["0.0"], ["NaN"]]
    assert "mcp_binance_sessions 0.0" in unknown.text
