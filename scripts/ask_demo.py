"""Start a server with a given command and ask it for a price over stdio, with the standard library only.

scripts/ask_demo.py mcp-binance-server demo
"""

import json
import subprocess
import sys

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "ask_demo", "version": "1"},
}
PATIENCE_SECS = 120


def ask(command: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the server's info and the BTC ticker."""
    said = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "get_ticker", "arguments": {"symbol": "btcusdt"}},
        },
    ]
    lines = "".join(f"{json.dumps(message)}\n" for message in said).encode()
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, timeout=PATIENCE_SECS, check=True)  # noqa: S603 - the caller's own command
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines()) if "id" in answer}
    return answers[1]["serverInfo"], answers[2]["structuredContent"]


if __name__ == "__main__":
    server, ticker = ask(sys.argv[1:])
    print(f"{server['name']} {server['version']}: {ticker['symbol']} {ticker['last_price']} at {ticker['as_of']}")
