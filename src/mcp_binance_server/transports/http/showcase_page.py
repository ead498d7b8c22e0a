"""The market on the front page of the demo: prices that move and a chart, from our own tools, by a script of ours."""

import json
from html import escape
from typing import Literal

from starlette.types import Scope, Send

from mcp_binance_server.surface.showcase import CHARTED, PriceTag, Showcase, Theme
from mcp_binance_server.transports.http.refusals import refuse

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
CHART = f"""<figure class="card chart"><picture>
<source srcset="/demo/chart-dark.png" media="(prefers-color-scheme: dark)">
<img src="/demo/chart-light.png" width="1280" height="560" alt="Candles of {CHARTED}, one hour each, with volume">
</picture></figure>
"""
# Without it the page shows the market of the moment it was opened.
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


def market_section(quotes: tuple[PriceTag, ...], *, has_chart: bool) -> str:
    """Return the part of the page that shows the market; nothing while there is none."""
    if not quotes:
        return ""
    tiles = "".join(TILE.format(**{name: escape(value) for name, value in _told(quote).items()}) for quote in quotes)
    return MARKET.format(tiles=tiles, chart=CHART if has_chart else "")


async def reply_showcase(showcase: Showcase, scope: Scope, send: Send) -> None:
    """Answer the requests that the page makes."""
    if scope["method"] not in ("GET", "HEAD"):
        await refuse(send, 405, "method_not_allowed", "This is only read", headers=[(b"allow", b"GET, HEAD")])
        return
    theme = CHARTS.get(scope["path"])
    if theme is None:
        quotes = [_told(quote) for quote in await showcase.quotes()]
        await _reply(send, b"application/json", json.dumps(quotes).encode())
        return
    picture = await showcase.chart(theme) if showcase.has_chart else None
    if picture is None:
        await refuse(send, 404, "not_found", "There is no chart now")
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
