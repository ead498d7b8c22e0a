"""The words of labels: what a text may say that is no fact, and by which words it names a member of the structure."""

# Words between the facts: labels, and what joins them. A word that tells something new does not belong here.
WORDS = """
account after aggressive answered assets before best book buyers changed data differs each enabled estimated
false filled first format found from history last level levels maker measure minute minutes more most needed newest
market none nothing once open order orig over placed plan plans portfolio preview priced prices quantity recorded role
scale sellers session shown
side taker this towards trading true under unknown updated value wait withdrawal without would year your
"""
GLOSSARY = frozenset(WORDS.split())
# Names in the text that are other than the structure's.
LABELS: dict[str, tuple[str, ...]] = {
    "after": ("once filled",),
    "amount": ("fee",),
    "as_of": ("as_of", "last updated"),
    "ask_total": ("asks",),
    "asks": ("ask",),
    "best_ask": ("ask",),
    "best_bid": ("bid",),
    "bid_total": ("bids",),
    "bids": ("bid",),
    "cachedAt": ("as of",),
    "can_deposit": ("deposit enabled",),
    "can_trade": ("trading enabled",),
    "can_withdraw": ("withdrawal enabled",),
    "change_percent": ("change",),
    "commission": ("fee",),
    "count": ("shown", "exchanges"),
    "default": ("=",),
    "exchange_time_ms": ("exchange time",),
    "first_open_time": ("open_time",),
    "from": ("window", "as of"),
    "have_ms": ("have",),
    "levels": ("level",),
    "max": ("..",),
    "min": ("..",),
    "ms": ("window", "as of"),
    "need_ms": ("needed",),
    "next_at": ("settlement at",),
    "order_id": ("order",),
    "price": ("price", "at"),
    "quantity": ("quantity", "qty", "nothing sent"),
    "quote_quantity": ("value", "for"),
    "rate": ("fee",),
    "ready_at": ("ready at",),
    "received": ("changed",),
    "requested_ms": ("requested", "as of"),
    "rows": ("price",),
    "slippage_mid_bps": ("bps vs mid",),
    "spent": ("for",),
    "slippage_touch_bps": ("bps vs touch",),
    "stop_price": ("stop",),
    "time": ("time", "placed"),
    "to": ("window", "as of"),
    "total": ("shown", "total"),
    "trade_count": ("price change count",),
    "used": ("changed", "used"),
    "USDT": ("total value",),
}
# Values that the text says in words of its own.
SAID_BY: dict[tuple[str, object], tuple[str, ...]] = {
    ("behaviour", "rests"): ("wait on the book",),
    ("behaviour", "takes"): ("trade at once",),
    ("behaviour", "takes_then_rests"): ("trade in part at once, the rest waits",),
    ("behaviour", "takes_then_expires"): ("trade in part at once, the rest expires",),
    ("behaviour", "expires"): ("expire at once",),
    ("behaviour", "waits_for_trigger"): ("wait for its stop price",),
    ("clock_ahead_ms", 0): ("equal to the exchange",),
    ("columns", "open,high,low,close,volume"): ("No candle opened",),
    ("is_maker", False): ("taker",),
    ("is_maker", True): ("maker",),
    ("journal", "ACKED"): ("recorded",),
    ("kind", "liquidity_mapping"): ("liquidity map",),
    ("kind", "trading_analysis"): ("Market Analysis",),
    ("last_is_final", False): ("last candle is open until",),
    ("last_is_final", True): ("last candle closed at",),
    ("is_stopped", False): ("trading is on",),
    ("is_stopped", True): ("trading is stopped",),
    ("outcome", "placed"): (r"order mb[ptdl]-\w+ is",),
    ("outcome", "unknown"): (r"do not place it again\.",),
    ("outcome", "waiting_for_approval"): ("waiting for your",),
    ("sent", False): ("nothing sent",),
    ("stop_price", "0"): ("",),
    ("stop_price", "0.00000000"): ("",),  # the exchange's way to say that there is none
}
UNITS = {
    "base": r"\b[A-Z]{3,}\b",
    "quote": r"\b[A-Z]{3,}\b",
    "percent": "%",
    "per_second": "per second",
    "score_0_100": "0 to 100",
}
