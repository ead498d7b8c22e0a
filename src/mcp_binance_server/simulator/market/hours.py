"""The hourly candles of a day: the top of the market, drawn from the hourly marks of the assets."""

from mcp_binance_server.simulator.market.candles import LEAST_AGGREGATES, LEAST_LOTS, Candle
from mcp_binance_server.simulator.market.listing import UNIT, Symbol
from mcp_binance_server.simulator.market.noise import FULL, Temper, draws, shares
from mcp_binance_server.simulator.market.prices import Prices, level_of

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
LEAST_LOTS_A_DAY = 4_000_000
USD_A_DAY = 40_000_000.0


def hours_of(symbol: Symbol, day: int, seed: int, prices: Prices, temper: Temper) -> tuple[Candle, ...]:
    """Draw the 24 candles of a day; ids and volumes follow from the day alone."""
    marks = [
        min(symbol.highest_tick, max(symbol.lowest_tick, round(mark * UNIT / symbol.tick)))
        for mark in prices.marks(symbol.base, symbol.quote, day)
    ]
    noise = draws(24 * 8 + 2, seed, "hours", symbol.name, day)
    lots = _lots_of_day(symbol, noise[-1], temper)
    taken = lots * (temper.least_bought + noise[-2] % temper.bought_span) // 100
    bought = shares(taken, [100 + draw % 300 for draw in noise[0:24]], LEAST_LOTS * 60)
    sold = shares(lots - taken, [100 + draw % 300 for draw in noise[24:48]], LEAST_LOTS * 60)
    first_aggregate, aggregates = _ids(seed, symbol.name, "aggregates", day, temper.aggregates_a_day)
    first_extra, extra = _ids(seed, symbol.name, "extra", day, temper.extra_trades_a_day)
    grouped = shares(aggregates, [70 + draw % 60 for draw in noise[48:72]], LEAST_AGGREGATES * 60)
    further = shares(extra, [70 + draw % 60 for draw in noise[72:96]], 0)
    reaches = [1 + round(wick * marks[0]) for wick in prices.wicks(symbol.base, symbol.quote, day)]
    candles: list[Candle] = []
    first_trade = first_aggregate + first_extra
    for hour in range(24):
        opened, closed = marks[hour], marks[hour + 1]
        up, down, average_draw, side_draw = noise[96 + hour * 4 : 100 + hour * 4]
        high = min(symbol.highest_tick, max(opened, closed) + up % reaches[hour])
        low = max(symbol.lowest_tick, min(opened, closed) - down % reaches[hour])
        # Buyers pay a little more than sellers get, or a little less: far apart, minutes would need long wicks.
        average, apart = _average(opened, high, low, closed, average_draw), side_draw // 50 - FULL // 100
        candles.append(
            Candle(
                day * DAY_MS + hour * HOUR_MS,
                opened,
                high,
                low,
                closed,
                bought[hour],
                _value(bought[hour], low, high, average + apart),
                sold[hour],
                _value(sold[hour], low, high, average - apart),
                grouped[hour],
                grouped[hour] + further[hour],
                first_aggregate,
                first_trade,
            )
        )
        first_aggregate += grouped[hour]
        first_trade += grouped[hour] + further[hour]
    return tuple(candles)


def first_trade_of(symbol: Symbol, day: int, seed: int, temper: Temper) -> int:
    """Return the id of the first trade of a day."""
    return sum(
        _ids(seed, symbol.name, kind, day, usual)[0]
        for kind, usual in (("aggregates", temper.aggregates_a_day), ("extra", temper.extra_trades_a_day))
    )


def first_aggregate_of(symbol: Symbol, day: int, seed: int, temper: Temper) -> int:
    """Return the id of the first aggregate trade of a day."""
    return _ids(seed, symbol.name, "aggregates", day, temper.aggregates_a_day)[0]


def _ids(seed: int, name: str, kind: str, day: int, usual: int) -> tuple[int, int]:
    # The counts telescope: ids follow each other without a hole, and the first id of any day costs O(1).
    first, following = (usual * at + draws(1, seed, kind, name, at)[0] % (usual // 8) for at in (day, day + 1))
    return first, following - first


def _lots_of_day(symbol: Symbol, draw: int, temper: Temper) -> int:
    usd = level_of(symbol.base).usd
    weight = 20.0 if symbol.base in {"BTC", "ETH"} and symbol.quote == "USDT" else 1.0
    usual = USD_A_DAY * weight / usd * UNIT / symbol.lot
    usual = usual * temper.volume_percent / 100
    return max(LEAST_LOTS_A_DAY, 100 * temper.aggregates_a_day, round(usual)) * (60 + draw % 90) // 100


def _value(lots: int, low: int, high: int, share: int) -> int:
    return low * lots + (high - low) * lots * share // FULL


def _average(opened: int, high: int, low: int, closed: int, draw: int) -> int:
    # Where trades took place on average, as a share of the range: most often between open and close.
    middle = FULL * (opened + closed - 2 * low) // (2 * (high - low)) if high > low else FULL // 2
    return FULL // 4 + (3 * middle + 2 * draw) // 10
