"""Table of the futures calls in use. A futures call cannot be signed.

Weights: https://developers.binance.com/docs/derivatives/usds-margined-futures
"""

from dataclasses import replace

from mcp_binance_server.domain.derivatives import ShareKind
from mcp_binance_server.exchange.endpoints import MIB, RestCall

ROOT, DATA_ROOT = "/fapi/v1", "/futures/data"
DATA, FUNDING = "futures-data", "funding"
# The exchange allows 1,000 requests of the first and 500 of the second in five minutes. Nine tenths of a limit are
# used.
REQUESTS_PER_MINUTE = {DATA: 180, FUNDING: 90}
# Used until exchangeInfo is loaded.
USUAL_LIMIT = 2_400
# Each pair is a number of candles and the weight of a call with fewer candles.
KLINE_WEIGHTS = ((100, 1), (500, 2), (1_001, 5))
MOST_WEIGHT = 10
HISTORY_MS = 300_000


def _call(name: str, weight: int) -> RestCall:
    return RestCall(name, weight, root=ROOT)


def _history(name: str) -> RestCall:
    # The shortest period of these histories is five minutes.
    return RestCall(name, 0, root=DATA_ROOT, shared_ms=HISTORY_MS, counter=DATA)


FUTURES_TIME = replace(_call("time", 1), shared_ms=0)
CONTRACTS = replace(_call("exchangeInfo", 1), shared_ms=0, body_cap=16 * MIB, patience=3, for_all=True)

DAY = _call("ticker/24hr", 1)
PREMIUM = _call("premiumIndex", 1)
# The exchange documents that the weight in this call's header is wrong.
QUOTE = replace(_call("ticker/bookTicker", 2), tells_weight=False)
ALL_DAYS = replace(DAY, weight=40, shared_ms=0, body_cap=8 * MIB, patience=2, for_all=True)
ALL_PREMIUMS = replace(PREMIUM, weight=10, shared_ms=0, body_cap=8 * MIB, patience=2, for_all=True)
ALL_QUOTES = replace(QUOTE, weight=5, shared_ms=0, body_cap=8 * MIB, patience=2, for_all=True)
OPEN_INTEREST = _call("openInterest", 1)
KLINES = _call("klines", 2)

FUNDING_RULES = replace(_call("fundingInfo", 0), shared_ms=0, counter=FUNDING, for_all=True)
FUNDING_PAYMENTS = replace(_call("fundingRate", 0), shared_ms=HISTORY_MS, counter=FUNDING)

INTEREST_HISTORY = _history("openInterestHist")
SHARE_HISTORIES: dict[ShareKind, RestCall] = {
    "accounts_all": _history("globalLongShortAccountRatio"),
    "top_accounts": _history("topLongShortAccountRatio"),
    "top_positions": _history("topLongShortPositionRatio"),
}
TAKER_HISTORY = _history("takerlongshortRatio")
BASIS_HISTORY = _history("basis")

FUTURES_CALLS: tuple[RestCall, ...] = (
    FUTURES_TIME,
    CONTRACTS,
    PREMIUM,
    QUOTE,
    ALL_DAYS,
    ALL_PREMIUMS,
    ALL_QUOTES,
    OPEN_INTEREST,
    KLINES,
    FUNDING_RULES,
    FUNDING_PAYMENTS,
    INTEREST_HISTORY,
    *SHARE_HISTORIES.values(),
    TAKER_HISTORY,
    BASIS_HISTORY,
)


def klines_call(limit: int, *, in_background: bool = False) -> RestCall:
    """Return the call for a number of candles, with the weight of that number."""
    weight = next((weight for below, weight in KLINE_WEIGHTS if limit < below), MOST_WEIGHT)
    return replace(KLINES, weight=weight, in_background=in_background, shared_ms=0 if in_background else 1_000)
