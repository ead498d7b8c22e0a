"""Web pages for browsers: the front page with the market, and public pages."""

import hashlib
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from html import escape
from json import dumps
from typing import Literal

from mcp import types
from starlette.types import Scope, Send

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.views.markdown import percent
from mcp_binance_server.surface.views.market import shown_price
from mcp_binance_server.transports.http.admission.refusals import refuse
from mcp_binance_server.transports.http.mcp.sessions import header

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #fff; --ink: #16181d; --soft: #5d6573; --line: #e3e6ec;
  --rise: #0b8a5b; --fall: #d0303f; --accent: #a36b00; --code: #f0f2f6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1017; --card: #131722; --ink: #e6e9ef; --soft: #929bab; --line: #242a38;
    --rise: #26b387; --fall: #f2545f; --accent: #f0b90b; --code: #1a2030;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 3rem 1.25rem 2.5rem; }
h1 { font-size: 1.75rem; line-height: 1.2; letter-spacing: -.02em; margin: 0 0 .4rem; }
h2 { font-size: 1.1rem; letter-spacing: -.01em; margin: 2.5rem 0 .75rem; }
h3 { font-size: .95rem; margin: 0 0 .5rem; }
p { margin: .4rem 0; }
a { color: inherit; text-decoration-color: var(--soft); text-underline-offset: 2px; }
.lead { font-size: 1.1rem; color: var(--soft); max-width: 50rem; }
code { font: 13.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { margin: 0; padding: .7rem .85rem; border-radius: 8px; background: var(--code); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem; }
.ways { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: .75rem; }
.wide { grid-column: 1 / -1; }
.ask { list-style: none; padding: 0; margin: 0; display: grid; gap: .5rem; }
.ask li { padding: .65rem .9rem; }
.ask li::before { content: "\\201C"; color: var(--accent); } .ask li::after { content: "\\201D"; color: var(--accent); }
.market { display: flex; align-items: baseline; gap: .6rem; flex-wrap: wrap; }
.market small { color: var(--soft); font-size: .85rem; font-weight: 400; }
.dot { width: .55rem; height: .55rem; border-radius: 50%; background: var(--rise); align-self: center; }
.prices { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.6rem, 1fr)); gap: .75rem; }
.prices { margin: 0 0 .75rem; } .prices .card { padding: .8rem .85rem; }
.prices dt { font-size: .85rem; color: var(--soft); } .prices dt b { color: var(--ink); }
.prices dd { margin: 0; font-variant-numeric: tabular-nums; }
.price { font-size: 1.08rem; font-weight: 600; letter-spacing: -.01em; }
.change { font-size: .88rem; } .rise { color: var(--rise); } .fall { color: var(--fall); }
.prices dl { margin: 0; }
.chart { padding: 0; overflow: hidden; margin: 0; } .chart img { display: block; width: 100%; height: auto; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
footer { color: var(--soft); font-size: .85rem; }
@media (prefers-reduced-motion: no-preference) {
  .dot { animation: beat 2s ease-in-out infinite; }
  .price { transition: color .6s; } .price.up { color: var(--rise); } .price.down { color: var(--fall); }
  @keyframes beat { 50% { opacity: .25; } }
}
"""

Theme = Literal["light", "dark"]
SYMBOLS = ("BTCUSDT", "ETHUSDT", "BNBUSDT", "SOLUSDT", "XRPUSDT", "DOGEUSDT")
CHARTED = "BTCUSDT"
CHART = {
    "symbol": f"BINANCE:{CHARTED}",
    "interval": "1h",
    "width": 1280,
    "height": 560,
    "studies": [{"name": "Volume"}],
}
TOOL = "generate_chart_image"
PRICES_MS = 1_000
CHART_MS = 15_000

PRICES = "/demo/prices"
CHARTS: dict[str, Theme] = {"/demo/chart-light.png": "light", "/demo/chart-dark.png": "dark"}
SHOWN = frozenset({PRICES, *CHARTS})
MARKET = """<h2 class="market"><span class="dot"></span>The market now <small>simulated: prices move, nothing is
real</small></h2>
<div class="prices">
{tiles}</div>
{chart}"""
TILE = """<dl class="card" data-symbol="{symbol}"><dt><b>{base}</b> / {quote}</dt>
<dd class="price">{price}</dd><dd class="change {way}">{change} <span>24h</span></dd></dl>
"""
FIGURE = f"""<figure class="card chart"><picture>
<source srcset="/demo/chart-dark.png" media="(prefers-color-scheme: dark)">
<img src="/demo/chart-light.png" width="1280" height="560" alt="Candles of {CHARTED}, one hour each, with volume">
</picture></figure>
"""
# The script refreshes the market; without it the page shows the state at loading time.
SCRIPT = """
const number = text => Number(text.replace(/[^0-9.]/g, ""));
const prices = async () => {
  for (const quote of await (await fetch("/demo/prices")).json()) {
    const tile = document.querySelector(`[data-symbol="${quote.symbol}"]`);
    if (!tile) continue;
    const price = tile.querySelector(".price"), change = tile.querySelector(".change");
    const moved = number(quote.price) - number(price.textContent);
    price.textContent = quote.price;
    price.classList.toggle("up", moved > 0);
    price.classList.toggle("down", moved < 0);
    change.firstChild.textContent = quote.change + " ";
    change.className = "change " + quote.way;
  }
};
const chart = async () => {
  for (const each of document.querySelectorAll(".chart source, .chart img")) {
    const name = each.tagName === "IMG" ? "src" : "srcset";
    each.setAttribute(name, each.getAttribute(name).split("?")[0] + "?" + Date.now());
  }
};
const every = (work, wait) => setInterval(() => document.hidden || work().catch(() => {}), wait);
every(prices, 2000);
every(chart, 30000);
"""

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
<footer>For programs: <code>{address}</code>. Health: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>;
numbers: <a href="/metrics">/metrics</a>. This is software, not financial advice. Not affiliated with Binance.</footer>
</main>
{script}</body>
</html>
"""
WHO_ARE_YOU = """<p>This server requires authorization: send <code>Authorization: Bearer …</code> with your token,
or sign in if your client offers it.</p>
"""


@dataclass(frozen=True, slots=True)
class PriceTag:
    """A trading pair with its texts for the page."""

    base: str
    quote: str
    price: str
    change: str
    has_risen: bool


@dataclass
class Showcase:
    """Market data of the page, read with the same tools as by any client."""

    dispatcher: Dispatcher
    clock: Clock
    _quotes: tuple[float, tuple[PriceTag, ...]] | None = field(default=None, init=False, repr=False)
    _charts: dict[Theme, tuple[float, bytes]] = field(
        default_factory=dict[Theme, tuple[float, bytes]], init=False, repr=False
    )

    @property
    def has_chart(self) -> bool:
        return self.dispatcher.catalogue.tool(TOOL) is not None

    async def quotes(self) -> tuple[PriceTag, ...]:
        """Return the current prices. Return none if the market cannot be reached."""
        now_ms = self.clock.monotonic_ms()
        if self._quotes is None or now_ms - self._quotes[0] >= PRICES_MS:
            try:
                board = await self.dispatcher.context.market.tickers(SYMBOLS)
            except AppError:
                return ()
            quotes = tuple(
                PriceTag(
                    view.rules.base,
                    view.rules.quote,
                    shown_price(view, view.ticker.last_price),
                    percent(view.ticker.change_percent),
                    view.ticker.change_percent >= 0,
                )
                for view in board.views
            )
            self._quotes = (now_ms, quotes)
        return self._quotes[1]

    async def chart(self, theme: Theme) -> bytes | None:
        """Return the chart as a picture. Return None if the chart cannot be drawn."""
        now_ms = self.clock.monotonic_ms()
        kept = self._charts.get(theme)
        if kept is None or now_ms - kept[0] >= CHART_MS:
            answer = await self.dispatcher.call_tool(None, TOOL, {"config": {**CHART, "theme": theme}})
            pictures = [block for block in answer.content if isinstance(block, types.ImageContent)]
            if not pictures:
                return None
            kept = self._charts[theme] = (now_ms, b64decode(pictures[0].data))
        return kept[1]


def market_section(quotes: tuple[PriceTag, ...], *, has_chart: bool) -> str:
    """Return the market section as HTML. Return an empty text without prices."""
    if not quotes:
        return ""
    tiles = "".join(TILE.format(**{name: escape(value) for name, value in _told(quote).items()}) for quote in quotes)
    return MARKET.format(tiles=tiles, chart=FIGURE if has_chart else "")


async def reply_showcase(showcase: Showcase, scope: Scope, send: Send) -> None:
    """Answer the requests of the page's script."""
    if scope["method"] not in ("GET", "HEAD"):
        await refuse(
            send, 405, "method_not_allowed", "Only GET and HEAD are allowed", headers=[(b"allow", b"GET, HEAD")]
        )
        return
    theme = CHARTS.get(scope["path"])
    if theme is None:
        quotes = [_told(quote) for quote in await showcase.quotes()]
        await _reply(send, b"application/json", json.dumps(quotes).encode())
        return
    picture = await showcase.chart(theme) if showcase.has_chart else None
    if picture is None:
        await refuse(send, 404, "not_found", "No chart is available now")
    else:
        await _reply(send, b"image/png", picture)


def _told(quote: PriceTag) -> dict[str, str]:
    way: Literal["rise", "fall"] = "rise" if quote.has_risen else "fall"
    return {
        "symbol": f"{quote.base}{quote.quote}",
        "base": quote.base,
        "quote": quote.quote,
        "price": quote.price,
        "change": quote.change,
        "way": way,
    }


async def _reply(send: Send, kind: bytes, body: bytes) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def wants_page(scope: Scope) -> bool:
    """Return True if a browser requests the front page. Other clients get an error with the address of MCP."""
    accepted = header(scope, b"accept") or ""
    return scope["path"] == "/" and scope["method"] in ("GET", "HEAD") and "text/html" in accepted.lower()


async def reply_page(
    scope: Scope, send: Send, greeting: str, *, asks_for_token: bool, showcase: Showcase | None = None
) -> None:
    """Send the front page. It contains the Host header, which the guard has already checked."""
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
    """Return the page. `market` is HTML. All other arguments are escaped."""
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
