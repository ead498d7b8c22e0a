"""Reference prices and execution rules: referencePrice, its calculation, and executionRules."""

from binance_simulator import refusals
from binance_simulator.market.listing import decimal_string
from binance_simulator.orders.references import AVERAGED_MINUTES, BUCKET_MS
from binance_simulator.rest.endpoints import Call, Endpoint, flat, listed_symbols
from binance_simulator.rest.signing import Params

BUCKETS = AVERAGED_MINUTES * 60_000 // BUCKET_MS


def reference_price(call: Call) -> object:
    """Answer referencePrice; a price of null means that the symbol has none now."""
    symbol, engine = call.symbol(), call.exchange.orders.engine
    if not engine.references.is_known(symbol):
        raise refusals.no_reference_price()
    price = engine.references.price(symbol, engine.crowd, call.now_ms)
    shown = None if price is None else decimal_string(price)
    return {"symbol": symbol.name, "referencePrice": shown, "timestamp": call.now_ms}


def calculation(call: Call) -> object:
    """Answer referencePrice/calculation. A price that was set by hand counts as external."""
    symbol, references = call.symbol(), call.exchange.orders.engine.references
    status = call.status()
    if status is not None and symbol.status != status:
        raise refusals.status_mismatch()
    if symbol.name in references.fixed:
        return {"symbol": symbol.name, "calculationType": "EXTERNAL", "externalCalculationId": 0}
    if symbol.name not in references.averaged:
        raise refusals.no_reference_price()
    mean = {"calculationType": "ARITHMETIC_MEAN", "bucketCount": BUCKETS, "bucketWidthMs": BUCKET_MS}
    return {"symbol": symbol.name, **mean}


def execution_rules(call: Call) -> object:
    """Answer executionRules: of one symbol, of several, of a status, or of all that have a rule."""
    params, rules = call.params, call.exchange.orders.engine.references.rules
    if sum(params.peek(name) is not None for name in ("symbol", "symbols", "symbolStatus")) > 1:
        raise refusals.bad_combination()
    is_named = params.peek("symbol") is not None or params.peek("symbols") is not None
    chosen = [symbol.name for symbol in call.symbols()[0] if is_named or symbol.name in rules]
    return {"symbolRules": [{"symbol": name, "rules": _rules(call, name)} for name in chosen]}


def _rules(call: Call, name: str) -> list[object]:
    rule = call.exchange.orders.engine.references.rules.get(name)
    return [] if rule is None else [{"ruleType": "PRICE_RANGE", **rule.told()}]


def _weight(params: Params) -> int:
    count = listed_symbols(params)
    return 40 if count is None or params.peek("symbolStatus") is not None else min(40, 2 * count)


REFERENCES = (
    Endpoint("/api/v3/referencePrice", ("symbol",), flat(2), reference_price),
    Endpoint("/api/v3/referencePrice/calculation", ("symbol", "symbolStatus"), flat(2), calculation),
    Endpoint("/api/v3/executionRules", ("symbol", "symbols", "symbolStatus"), _weight, execution_rules),
)
