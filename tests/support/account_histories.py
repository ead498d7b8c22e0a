"""Generated histories of accounts, and their profit worked out in whole numbers by other code than the product's.

Quantities and prices count in 1e-8, money in 1e-16: one times the other needs no rounding.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

DAY_MS = 86_400_000
COIN = 10**8
CASH = ("USDT", "USDC", "FDUSD", "TUSD", "USDP", "DAI", "BUSD")
PAIRS = {
    "BTCUSDT": ("BTC", "USDT"),
    "ETHUSDT": ("ETH", "USDT"),
    "BNBUSDT": ("BNB", "USDT"),
    "BTCUSDC": ("BTC", "USDC"),
    "ETHBTC": ("ETH", "BTC"),
    "BNBBTC": ("BNB", "BTC"),
}
MONEY_PAIRS = {"USDCUSDT": ("USDC", "USDT"), "USDTTRY": ("USDT", "TRY")}
# Whole hundredths of USDT, so that quantities of four decimals make amounts of at most eight.
LEVELS = {"BTC": 60_000_00, "ETH": 3_000_00, "BNB": 600_00, "USDC": 1_00, "TRY": 3}

IntPrice = Callable[[str, int], int | None]
"""The price of an asset in USDT at a moment, in 1e-8; None where nobody knows it."""


@dataclass(frozen=True, slots=True)
class HistoryTrade:
    """One trade, in 1e-8 of each asset."""

    symbol: str
    trade_id: int
    time_ms: int
    is_buyer: bool
    price: int
    quantity: int
    fee: int
    fee_asset: str

    @property
    def value(self) -> int:
        return self.price * self.quantity // COIN


@dataclass(slots=True)
class AccountHistory:
    """What happened to an account: its trades, what came and went otherwise, and what it holds in the end."""

    trades: list[HistoryTrade] = field(default_factory=list[HistoryTrade])
    balances: dict[str, int] = field(default_factory=dict[str, int])
    others: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])

    def move(self, kind: str, asset: str, quantity: int) -> None:
        self.others.append((kind, asset, quantity))
        self.balances[asset] = self.balances.get(asset, 0) + quantity


def history(
    seed: int, *, events: int = 40, end_ms: int, pairs: dict[str, tuple[str, str]] = PAIRS, gifts_only: bool = False
) -> AccountHistory:
    """Return buys and sells, fees in base, quote and BNB, deposits, rewards, withdrawals and dust, in some order."""
    random = Random(seed)
    made = AccountHistory()
    made.move("deposit", "USDT", random.randrange(20_000, 90_000) * COIN)
    made.move("deposit", "USDC", random.randrange(0, 20_000) * COIN)
    if random.random() < 0.7:
        made.move("deposit", "BNB", random.randrange(1, 400) * COIN // 100)
    kinds = ("deposit", "reward") if gifts_only else ("deposit", "reward", "withdrawal", "dust")
    for number in range(events):
        time_ms = end_ms - (events - number) * DAY_MS // 9 + random.randrange(DAY_MS // 10)
        if random.random() < 0.75:
            _trade(random, made, number, time_ms, pairs)
        else:
            _move(random, made, random.choice(kinds))
    return made


def _trade(random: Random, made: AccountHistory, number: int, time_ms: int, pairs: dict[str, tuple[str, str]]) -> None:
    symbol = random.choice([*pairs])
    base, quote = pairs[symbol]
    is_buyer = random.random() < 0.55
    price = _price(random, base, quote)
    have = made.balances.get(quote if is_buyer else base, 0)
    most = have * COIN // price if is_buyer else have
    quantity = int(most * random.choice((0.2, 0.5, 0.9)) // 10_000) * 10_000
    if quantity <= 0:
        return
    value = price * quantity // COIN
    asset = random.choice((base, quote, "BNB", "BNB"))
    fee = {base: quantity // 1000, quote: value // 1000}.get(asset, random.randrange(1, 90_000))
    spent = {quote if is_buyer else base: value if is_buyer else quantity}
    spent[asset] = spent.get(asset, 0) + (0 if asset == (base if is_buyer else quote) else fee)
    if any(made.balances.get(each, 0) < amount for each, amount in spent.items()):
        return
    made.trades.append(HistoryTrade(symbol, 1000 + number, time_ms, is_buyer, price, quantity, fee, asset))
    for each, amount in (
        (base, quantity if is_buyer else -quantity),
        (quote, -value if is_buyer else value),
        (asset, -fee),
    ):
        made.balances[each] = made.balances.get(each, 0) + amount


def _price(random: Random, base: str, quote: str) -> int:
    swing = random.randrange(70, 140)
    if quote in CASH:
        return LEVELS[base] * swing // 100 * (COIN // 100)
    return LEVELS.get(base, 100) * COIN // LEVELS[quote] * swing // 100 // 10_000 * 10_000


def _move(random: Random, made: AccountHistory, kind: str) -> None:
    asset = random.choice(("BTC", "ETH", "BNB"))
    have = made.balances.get(asset, 0)
    if kind in ("deposit", "reward"):
        made.move(kind, asset, random.randrange(1, 3_000) if kind == "reward" else random.randrange(1, 2 * COIN))
    elif kind == "withdrawal" and have:
        made.move(kind, asset, -random.randrange(1, have + 1))
    elif kind == "dust" and asset != "BNB" and have:
        made.move(kind, asset, -have)
        made.move(kind, "BNB", random.randrange(1, 50_000))


@dataclass(slots=True)
class Sums:
    """What the trades of one asset come to."""

    lots: list[list[int]] = field(default_factory=list[list[int]])
    pool: list[int] = field(default_factory=lambda: [0, 0])
    fifo: int = 0
    average: int = 0
    sold: int = 0
    proceeds: int = 0
    gone: int = 0


@dataclass(slots=True)
class Reckoning:
    """The profit of a history by asset, and its fees."""

    assets: dict[str, Sums]
    held: dict[str, int]
    fees: int
    unpriced: int


Flow = tuple[str, int, int | None, int]
"""An asset, how much of it came or, below zero, went, for how much money if that is known, and when."""


def reckon(made: AccountHistory, price_at: IntPrice, pairs: dict[str, tuple[str, str]] = PAIRS) -> Reckoning:
    """Work the profit out: first what came and went by each trade, then asset by asset."""
    flows: dict[str, list[Flow]] = {}
    extra: dict[str, int] = {}
    fees = unpriced = 0
    for trade in sorted(made.trades, key=lambda each: (each.time_ms, each.symbol, each.trade_id)):
        base, quote = pairs[trade.symbol]
        fee, worth = _fee(trade, base, quote, price_at), _worth(trade, base, quote, price_at)
        unpriced += worth is None
        if worth is None or fee is None:
            fee = None
        fees += fee or 0
        if base in CASH and quote in CASH:
            extra[base] = extra.get(base, 0) - (fee or 0)
        for flow in _flows(trade, base, quote, worth, fee):
            if flow[0] not in CASH:
                flows.setdefault(flow[0], []).append(flow)
    assets = {asset: _summed(each) for asset, each in flows.items()}
    for asset, loss in extra.items():
        found = assets.setdefault(asset, Sums())
        found.fifo, found.average = found.fifo + loss, found.average + loss
    held: dict[str, int] = {}
    for asset in {*assets, *made.balances} - {*CASH}:
        found = assets.setdefault(asset, Sums())
        have = made.balances.get(asset, 0)
        _take(found, max(0, found.pool[0] - have), None)
        held[asset] = have - found.pool[0]
    return Reckoning(assets, held, fees, unpriced)


def _worth(trade: HistoryTrade, base: str, quote: str, price_at: IntPrice) -> int | None:
    """Return what changed hands, with fees in an asset of the pair, in money."""
    in_quote = trade.value + _sign(trade) * (trade.fee if trade.fee_asset == quote else 0)
    if quote in CASH:
        return in_quote * COIN
    if base in CASH:
        return (trade.quantity - _sign(trade) * (trade.fee if trade.fee_asset == base else 0)) * COIN
    price = price_at(quote, trade.time_ms)
    return None if price is None else in_quote * price


def _fee(trade: HistoryTrade, base: str, quote: str, price_at: IntPrice) -> int | None:
    if trade.fee_asset in CASH:
        return trade.fee * COIN
    if trade.fee_asset == base:
        # In 1e-16 of the quote asset already; a price on top of it makes 1e-24.
        in_quote = trade.fee * trade.price
        if quote in CASH:
            return in_quote
        price = price_at(quote, trade.time_ms)
        return None if price is None else divided(in_quote * price, COIN)
    if trade.fee_asset == quote and base in CASH:
        return divided(trade.fee * COIN * COIN, trade.price)
    price = price_at(trade.fee_asset, trade.time_ms)
    return None if price is None else trade.fee * price


def _flows(trade: HistoryTrade, base: str, quote: str, worth: int | None, fee: int | None) -> Iterator[Flow]:
    sign, when = _sign(trade), trade.time_ms
    third = trade.fee_asset not in (base, quote)
    borne = (fee or 0) if third else 0
    amounts = [
        (base, sign * trade.quantity - (trade.fee if trade.fee_asset == base else 0)),
        (quote, -sign * trade.value - (trade.fee if trade.fee_asset == quote else 0)),
    ]
    bearer = quote if base in CASH else base
    for asset, amount in sorted(amounts, key=lambda each: each[1]):
        money = worth
        if money is not None and asset == bearer:
            money += borne if amount > 0 else -borne
        yield asset, amount, money, when
    if third:
        yield trade.fee_asset, -trade.fee, fee, when


def _summed(flows: list[Flow]) -> Sums:
    found = Sums()
    for _, amount, money, when in flows:
        if amount < 0:
            _take(found, -amount, money)
        elif money is not None:
            found.lots.append([amount, money, when])
            found.pool = [found.pool[0] + amount, found.pool[1] + money]
    return found


def _take(found: Sums, amount: int, money: int | None) -> None:
    known = min(amount, found.pool[0])
    pool_cost = part(found.pool[1], known, found.pool[0]) if known else 0
    lot_cost, left = 0, known
    while left:
        oldest = found.lots[0]
        taken = min(left, oldest[0])
        cost = part(oldest[1], taken, oldest[0])
        oldest[0], oldest[1] = oldest[0] - taken, oldest[1] - cost
        if not oldest[0]:
            found.lots.pop(0)
        lot_cost, left = lot_cost + cost, left - taken
    found.pool = [found.pool[0] - known, found.pool[1] - pool_cost]
    if money is None:
        found.gone += known
    elif amount:
        earned = part(money, known, amount)
        found.fifo += earned - lot_cost
        found.average += earned - pool_cost
        found.sold += amount - known
        found.proceeds += money - earned


def part(money: int, taken: int, whole: int) -> int:
    return money if taken == whole else divided(money * taken, whole)


def divided(number: int, by: int) -> int:
    """Divide and round half to even."""
    whole, rest = divmod(number, by)
    return whole + (2 * rest > by or (2 * rest == by and whole % 2 == 1))


def _sign(trade: HistoryTrade) -> int:
    return 1 if trade.is_buyer else -1
