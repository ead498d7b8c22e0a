"""Look at one server over stdio: python -m peers.probe [--env K=V] [--call TOOL JSON] [--read URI] -- COMMAND ..."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time

from peers.exchange import Exchange
from peers.stdio import Gone, StdioServer, is_error

LISTS = {"resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts"}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="{url} becomes the fake exchange")
    parser.add_argument("--call", action="append", default=[], nargs=2, metavar=("TOOL", "JSON"))
    parser.add_argument("--read", action="append", default=[], metavar="URI")
    parser.add_argument("--show", type=int, default=600, metavar="CHARS", help="how much of each answer to print")
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    options = parser.parse_args()
    exchange = Exchange()
    env = dict(pair.replace("{url}", exchange.url).split("=", 1) for pair in options.env)
    async with StdioServer(options.command, env, stderr=sys.stderr) as server:
        about = server.about
        print(f"start {server.start_secs:.2f} s, {about.get('serverInfo')}, protocol {about.get('protocolVersion')}")
        print("capabilities", json.dumps(about.get("capabilities")))
        tools, size = await server.list_all("tools/list", "tools")
        shaped, noted = sum("outputSchema" in t for t in tools), sum(bool(t.get("annotations")) for t in tools)
        print(f"tools {len(tools)}, tools/list {size:,} bytes, {shaped} with outputSchema, {noted} with annotations")
        print("  " + ", ".join(tool["name"] for tool in tools))
        for method, key in LISTS.items():
            items, _ = await server.list_all(method, key)
            print(method, len(items), [item.get("uri") or item.get("uriTemplate") or item["name"] for item in items])
        asks = [("tools/call", {"name": name, "arguments": json.loads(text)}) for name, text in options.call]
        for method, params in asks + [("resources/read", {"uri": uri}) for uri in options.read]:
            began, seen = time.perf_counter(), len(exchange.seen)
            reply, size = await server.call(method, params)
            took, upstream = (time.perf_counter() - began) * 1000, exchange.seen[seen:]
            print(f"\n{json.dumps(params)}: {size:,} bytes, {took:.0f} ms, error {is_error(reply)}")
            print("upstream", upstream)
            print(json.dumps(reply.get("result", reply.get("error")))[: options.show])
        print("\nstdout lines that are not JSON-RPC:", server.impure or "none")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except Gone as reason:
        sys.exit(str(reason))
