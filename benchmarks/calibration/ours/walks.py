"""Our thin traded ranges, asked by the yardstick."""

from decimal import Decimal

from calibration.records import Tape
from mcp_binance_server.analytics.liquidity import thin_ranges as judgement
from mcp_binance_server.analytics.liquidity.path import path_of_trades
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity


def thin_ranges(tape: Tape) -> list[tuple[float, float]] | None:
    """Return the ranges found in a tape; None when it cannot be judged."""
    tick = Price(Decimal(str(tape.tick)))
    rows = zip(tape.ms, tape.price, tape.size, tape.sell, strict=True)
    trades = [
        Trade(at, Price(Decimal(str(price))), Quantity(Decimal(str(size))), ms, sell, at, at)
        for at, (ms, price, size, sell) in enumerate(rows)
    ]
    found = judgement.thin_ranges(path_of_trades(trades, tick), tick).found
    return None if found is None else [(float(each.low), float(each.high)) for each in found]
