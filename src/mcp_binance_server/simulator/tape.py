"""The trades of one minute, drawn so that they add up to its candle exactly."""

from mcp_binance_server.simulator.candle import Candle, Trade
from mcp_binance_server.simulator.noise import draws

MINUTE_MS = 60_000
MANY = 32  # trades of a side in a minute; an ordinary one has fewer

Lot = tuple[int, int, bool]  # price, lots, the buyer is the maker


def tape_of(minute: Candle, seed: int, name: str) -> tuple[Trade, ...]:
    """Return the minute's trades in order of time."""
    count, extra = minute.aggregates, minute.trades - minute.aggregates
    noise = draws(count * 4 + extra + 8, seed, "tape", name, minute.start_ms)
    lots = _lots(minute, noise[: count * 3 + 8])
    pieces = [1] * count
    for draw in noise[count * 3 + 8 : count * 3 + 8 + extra]:
        part = draw % count
        while lots[part][1] <= pieces[part]:
            part = (part + 1) % count
        pieces[part] += 1
    slot = MINUTE_MS // count
    trades: list[Trade] = []
    for part, (price, amount, maker) in enumerate(lots):
        time_ms = minute.start_ms + part * slot + noise[-1 - part] % slot
        each, rest = divmod(amount, pieces[part])
        for piece in range(pieces[part]):
            size = each + rest if piece == 0 else each
            identity = minute.first_trade + len(trades)
            trades.append(Trade(identity, minute.first_aggregate + part, price, size, time_ms, maker))
    return tuple(trades)


def _lots(minute: Candle, noise: tuple[int, ...]) -> list[Lot]:
    rising = minute.close >= minute.open
    # A rising minute dips first; so the trades between its four marks run downhill, uphill, downhill.
    marks = [minute.open, *((minute.low, minute.high) if rising else (minute.high, minute.low)), minute.close]
    makers = [noise[0] % 2 == 0, rising, not rising, not rising]
    fixed: list[Lot] = []
    left = {True: minute.sell_lots, False: minute.buy_lots}
    value = {True: minute.sell_value, False: minute.buy_value}
    for mark, maker, draw in zip(marks, makers, noise[1:5], strict=True):
        size = 1 + draw % ((minute.sell_lots if maker else minute.buy_lots) // 40)
        fixed.append((mark, size, maker))
        left[maker] -= size
        value[maker] -= size * mark
    free = minute.aggregates - 4
    buys = min(free - 3, max(3, free * minute.buy_lots // minute.lots))
    inner = _side(minute, left[False], value[False], buys, noise[8:], maker=False)
    inner += _side(minute, left[True], value[True], free - buys, noise[8 + buys * 2 :], maker=True)
    return _in_order(fixed, inner, noise[-free:])


def _side(minute: Candle, lots: int, value: int, count: int, noise: tuple[int, ...], *, maker: bool) -> list[Lot]:
    # Two neighbouring prices carry any total exactly; equal lots above and below one of them do not change it.
    price, above = divmod(value, lots)
    centre, bulk = (price + 1, above) if above * 2 > lots else (price, lots - above)
    parts: list[Lot] = [] if bulk == lots else [(2 * price + 1 - centre, lots - bulk, maker)]
    reach = 1 + min(centre - minute.low, minute.high - centre)
    # Where many trade, no single one carries half of a side.
    alike = count // 3 if count >= MANY else 1
    pairs = (count - len(parts) - alike) // 2
    most = max(1, bulk // (4 * pairs + 4))
    for pair in range(pairs):
        size = 1 + noise[2 * pair] % most
        distance = noise[2 * pair + 1] % reach
        parts += [(centre - distance, size, maker), (centre + distance, size, maker)]
        bulk -= 2 * size
    for left in range(count - len(parts), 0, -1):
        size = bulk // left
        parts.append((centre, size, maker))
        bulk -= size
    return parts


def _in_order(fixed: list[Lot], inner: list[Lot], noise: tuple[int, ...]) -> list[Lot]:
    legs: list[list[Lot]] = [[], [], []]
    for lot, draw in zip(inner, noise, strict=True):
        fitting = [
            leg
            for leg in range(3)
            if min(fixed[leg][0], fixed[leg + 1][0]) <= lot[0] <= max(fixed[leg][0], fixed[leg + 1][0])
        ]
        legs[fitting[draw % len(fitting)]].append(lot)
    ordered: list[Lot] = []
    for leg, lots in enumerate(legs):
        ordered.append(fixed[leg])
        ordered += sorted(lots, reverse=fixed[leg][0] > fixed[leg + 1][0])
    return [*ordered, fixed[3]]
