"""What the greeting on a pipe costs, beside that of the smallest server there can be."""

import json
import os

from support.process import Process
from support.raw import INITIALIZE

# The smallest server on the SDK that lists and calls tools.
BARE = """
import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="echo")])

async def main():
    server = Server("bare", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
OURS = "import sys; from mcp_binance_server.cli.main import main; sys.exit(main([]))"
# Measured: 0.94 to 1.14; it may be 1.25. A machine that does other work besides shows more.
MOST_CPU = 1.35
MOST_ROUNDS = 8


def greeting_cpu_secs(code: str) -> float:
    """Start a server, have it greet a client that leaves, and return the CPU of all that."""
    before = os.times()
    with Process(code=code) as process:
        process.say(INITIALIZE)
        assert "result" in process.answer()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_a_greeting_costs_little_more_than_that_of_the_smallest_server() -> None:
    bare, ours = [greeting_cpu_secs(BARE)], [greeting_cpu_secs(OURS)]

    # What a process costs at its best is its own; what it costs more now and then is its neighbours'.
    while min(ours) > MOST_CPU * min(bare) and len(ours) < MOST_ROUNDS:
        bare.append(greeting_cpu_secs(BARE))
        ours.append(greeting_cpu_secs(OURS))

    assert min(ours) <= MOST_CPU * min(bare), json.dumps({"bare": bare, "ours": ours})
