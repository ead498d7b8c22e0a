"""What a person sees who opens the server's address in a browser: what this is, and how to connect. No scripts."""

import hashlib
from base64 import b64encode
from html import escape
from json import dumps

from starlette.types import Scope, Send

from mcp_binance_server.transports.http.switchboard import header

LIVE = "Live Binance spot markets for AI assistants, over the Model Context Protocol (MCP)."
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; margin-bottom: .25rem; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
p, ul { margin: .5rem 0; }
ul { padding-left: 1.2rem; }
pre { padding: .7rem .9rem; border: 1px solid #8885; border-radius: 6px; background: #8881; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
code { font: 14px/1.5 ui-monospace, monospace; }
.quiet { opacity: .75; font-size: .9rem; margin-top: 2.5rem; }
"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>mcp-binance-server</title>
<style>{style}</style>
</head>
<body>
<h1>mcp-binance-server</h1>
<p>{greeting}</p>
<p>This page is for people; programs talk to <code>{address}</code>.</p>
<h2>Connect</h2>
<p>Claude Code:</p>
<pre><code>claude mcp add --transport http {name} {address}</code></pre>
<p>Cursor, in <code>.cursor/mcp.json</code>:</p>
<pre><code>{cursor}</code></pre>
<p>VS Code, in <code>.vscode/mcp.json</code>:</p>
<pre><code>{vscode}</code></pre>
{token}<h2>Then ask</h2>
<ul>
<li>What is the price of Bitcoin, and how deep is its order book?</li>
<li>Draw ETHUSDT of the last four weeks with Bollinger Bands and RSI.</li>
<li>What would 5 BTC, sold at once, do to the price?</li>
</ul>
<p class="quiet">Health: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>. Figures:
<a href="/metrics">/metrics</a>. This is software, not financial advice. Not affiliated with Binance.</p>
</body>
</html>
"""
WHO_ARE_YOU = """<p>This server asks callers who they are: send <code>Authorization: Bearer …</code> with a token
that you were given, or sign in where your client offers it.</p>
"""


def wants_page(scope: Scope) -> bool:
    """Tell whether a browser asks for the front page; every other client is told where MCP is."""
    accepted = header(scope, b"accept") or ""
    return scope["path"] == "/" and scope["method"] in ("GET", "HEAD") and "text/html" in accepted.lower()


async def reply_page(scope: Scope, send: Send, greeting: str, *, asks_for_token: bool) -> None:
    """Send the page. The guard has seen to it that the Host in it is one of ours."""
    host = header(scope, b"host") or "localhost"
    page = front_page(f"{scope['scheme']}://{host}/mcp", greeting, asks_for_token=asks_for_token).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", b"%d" % len(page)),
        (b"content-security-policy", _policy().encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-store"),
        (b"vary", b"accept"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": page})


def front_page(address: str, greeting: str, *, asks_for_token: bool) -> str:
    name = "binance" if greeting == LIVE else "binance-demo"
    return PAGE.format(
        style=STYLE,
        greeting=escape(greeting),
        name=name,
        address=escape(address),
        cursor=escape(dumps({"mcpServers": {name: {"url": address}}}), quote=False),
        vscode=escape(dumps({"servers": {name: {"type": "http", "url": address}}}), quote=False),
        token=WHO_ARE_YOU if asks_for_token else "",
    )


def _policy() -> str:
    style = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
