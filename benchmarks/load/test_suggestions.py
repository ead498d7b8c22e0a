"""Suggestions for a misspelled symbol among 3,500 hold the event loop for less than 50 ms."""

import random
from decimal import Decimal
from string import ascii_uppercase
from time import thread_time

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable, suggest

MOST_MS = 50.0
SYMBOLS = 3_500
WORDS = 200


def rules_of(name: str) -> SymbolRules:
    one = Decimal("0.01")
    return SymbolRules(Symbol(name), name[:3], name[3:], "TRADING", Price(one), Quantity(one), Quantity(one))


def test_no_misspelled_symbol_holds_the_loop() -> None:
    draw = random.Random(20_261_120)
    lengths = draw.choices([2, 3, 3, 4, 4, 5, 6, 8], k=1_200)
    bases = sorted({"".join(draw.choices(ascii_uppercase, k=length)) for length in lengths})
    names = [f"{base}{quote}" for base in bases for quote in ("USDT", "BTC", "USDC", "FDUSD")][:SYMBOLS]
    table = SymbolTable.of(map(rules_of, names), 6_000)
    slips = ["".join(draw.sample(name, len(name))) for name in draw.choices(names, k=WORDS // 2)]
    slips += [name[:2] + name[3:] for name in draw.choices(names, k=WORDS // 2)]

    suggest("BTCUSD", table)
    spent: list[float] = []
    for slip in slips:
        started = thread_time()
        suggest(slip, table)
        spent.append((thread_time() - started) * 1_000)

    assert len(names) == SYMBOLS
    assert max(spent) <= MOST_MS
