"""The exchange itself: ping, time and exchangeInfo."""

import msgspec

from mcp_binance_server.simulator import refusals
from mcp_binance_server.simulator.endpoints import Call, Endpoint, flat
from mcp_binance_server.simulator.listing import Symbol
from mcp_binance_server.simulator.params import Params

USUAL_PERMISSIONS = ("SPOT", "MARGIN", "LEVERAGED")


def ping(_call: Call) -> object:
    """Answer ping."""
    return {}


def server_time(call: Call) -> object:
    """Answer time."""
    return {"serverTime": call.now_ms}


def exchange_info(call: Call) -> object:
    """Answer exchangeInfo, with the weight limit that is really in force."""
    chosen = {symbol.name for symbol in _chosen(call)}
    full = call.params.flag("showPermissionSets", usual=True)
    records = [record for record in call.exchange.listing.records if record["symbol"] in chosen]
    if not full:
        hidden: dict[str, object] = {"permissionSets": list[list[str]]()}
        records = [record | hidden for record in records]
    return call.exchange.listing.document | {
        "serverTime": call.now_ms,
        "rateLimits": [
            limit | ({"limit": call.exchange.weight_limit} if limit["rateLimitType"] == "REQUEST_WEIGHT" else {})
            for limit in call.exchange.listing.rate_limits
        ],
        "symbols": records,
    }


def _chosen(call: Call) -> list[Symbol]:
    named = call.params.peek("symbol") is not None or call.params.peek("symbols") is not None
    permissions = _permissions(call.params)
    if named and (permissions is not None or call.params.peek("symbolStatus") is not None):
        raise refusals.bad_combination()
    symbols, _ = call.symbols()
    if named:
        return symbols
    wanted = frozenset(permissions or USUAL_PERMISSIONS)
    return [symbol for symbol in symbols if any(wanted & names for names in symbol.permission_sets)]


def _permissions(params: Params) -> list[str] | None:
    value = params.text("permissions")
    if value is None:
        return None
    try:
        names = msgspec.json.decode(value, type=list[str]) if value.startswith("[") else [value]
    except msgspec.DecodeError:
        names = []
    if not names or any(not name.replace("_", "").isalnum() for name in names):
        raise refusals.bad_value("permissions")
    return names


GENERAL = (
    Endpoint("/api/v3/ping", (), flat(1), ping),
    Endpoint("/api/v3/time", (), flat(1), server_time),
    Endpoint(
        "/api/v3/exchangeInfo",
        ("symbol", "symbols", "permissions", "symbolStatus", "showPermissionSets"),
        flat(20),
        exchange_info,
    ),
)
