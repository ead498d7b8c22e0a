"""What a person sees who opens the server's address in a browser: what it is, how to connect, in the demo a market."""

import hashlib
from base64 import b64encode
from html import escape
from json import dumps

from starlette.types import Scope, Send

from mcp_binance_server.surface.showcase import Showcase
from mcp_binance_server.transports.http.page_style import STYLE
from mcp_binance_server.transports.http.showcase_page import SCRIPT, market_section
from mcp_binance_server.transports.http.switchboard import header

LIVE = "Live Binance spot markets for AI assistants, over the Model Context Protocol (MCP)."
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
<main>
<h1>mcp-binance-server</h1>
<p class="lead">{greeting}</p>
{market}<h2>Connect your assistant</h2>
<div class="ways">
<div class="card wide"><h3>Claude Code</h3>
<pre><code>claude mcp add --transport http {name} {address}</code></pre></div>
<div class="card"><h3>Cursor <code>.cursor/mcp.json</code></h3>
<pre><code>{cursor}</code></pre></div>
<div class="card"><h3>VS Code <code>.vscode/mcp.json</code></h3>
<pre><code>{vscode}</code></pre></div>
</div>
{token}<h2>Then ask</h2>
<ul class="ask">
<li class="card">What is the price of Bitcoin, and how deep is its order book?</li>
<li class="card">Draw ETHUSDT of the last four weeks with Bollinger Bands and RSI.</li>
<li class="card">What would 5 BTC, sold at once, do to the price?</li>
</ul>
<footer>Programs talk to <code>{address}</code>. Health: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>;
numbers: <a href="/metrics">/metrics</a>. This is software, not financial advice. Not affiliated with Binance.</footer>
</main>
{script}</body>
</html>
"""
WHO_ARE_YOU = """<p>This server asks callers who they are: send <code>Authorization: Bearer …</code> with a token
that you were given, or sign in where your client offers it.</p>
"""


def wants_page(scope: Scope) -> bool:
    """Tell whether a browser asks for the front page; every other client is told where MCP is."""
    accepted = header(scope, b"accept") or ""
    return scope["path"] == "/" and scope["method"] in ("GET", "HEAD") and "text/html" in accepted.lower()


async def reply_page(
    scope: Scope, send: Send, greeting: str, *, asks_for_token: bool, showcase: Showcase | None = None
) -> None:
    """Send the page. The guard has seen to it that the Host in it is one of ours."""
    host = header(scope, b"host") or "localhost"
    market = market_section(await showcase.quotes(), has_chart=showcase.has_chart) if showcase else ""
    address = f"{scope['scheme']}://{host}/mcp"
    page = front_page(address, greeting, asks_for_token=asks_for_token, market=market).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", b"%d" % len(page)),
        (b"content-security-policy", _policy(has_market=bool(market)).encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-store"),
        (b"vary", b"accept"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": page})


def front_page(address: str, greeting: str, *, asks_for_token: bool, market: str = "") -> str:
    """Return the page; `market` is HTML, everything else is text."""
    name = "binance" if greeting == LIVE else "binance-demo"
    return PAGE.format(
        style=STYLE,
        greeting=escape(greeting),
        market=market,
        name=name,
        address=escape(address),
        cursor=escape(dumps({"mcpServers": {name: {"url": address}}}, indent=2), quote=False),
        vscode=escape(dumps({"servers": {name: {"type": "http", "url": address}}}, indent=2), quote=False),
        token=WHO_ARE_YOU if asks_for_token else "",
        script=f"<script>{SCRIPT}</script>\n" if market else "",
    )


def _policy(*, has_market: bool) -> str:
    live = f"script-src '{_hash(SCRIPT)}'; connect-src 'self'; img-src 'self' data:" if has_market else "img-src data:"
    return (
        f"default-src 'none'; style-src '{_hash(STYLE)}'; {live}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
