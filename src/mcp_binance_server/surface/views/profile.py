"""Words for a volume profile."""

from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.surface.views.markdown import plain, price
from mcp_binance_server.surface.views.measures import why

SOURCES = {"aggTrades": "every trade", "klines": "candles spread over their range (approximation)"}
PLACES = {"inside": "inside the value area", "above": "above the value area", "below": "below the value area"}


def profile_line(report: ProfileReport) -> str:
    """Say a profile in one line."""
    profile, rules = report.profile, report.rules
    opening = f"{plain(rules.symbol)} volume profile, last {report.requested_ms // 3_600_000} h:"
    if profile.poc is None or profile.val is None or profile.vah is None:
        return f"{opening} unknown ({why(profile.why_null)})."
    poc, val, vah = (price(each, rules.quote, rules.tick) for each in (profile.poc, profile.val, profile.vah))
    line = f"{opening} POC {poc}, value area {val}-{vah}"
    away = report.percent_from_poc
    if report.price is not None and away is not None and report.place is not None:
        last = price(report.price, rules.quote, rules.tick)
        line += f"; price {last} is {away:+.2f}% from POC, {PLACES[report.place]}"
    return f"{line}. From {SOURCES[report.source]}."
