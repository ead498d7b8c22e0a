"""Lots, average cost and profit, against the same histories worked out in whole numbers by other code."""

from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest

from mcp_binance_server.analytics.portfolio.profit import AssetProfit, needed_prices, replay, settle, total
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.orders import Fill
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from support.account_histories import (
    CASH,
    COIN,
    MONEY_PAIRS,
    PAIRS,
    AccountHistory,
    HistoryTrade,
    IntPrice,
    history,
    reckon,
)

END_MS = 1_784_592_000_000
HISTORIES = 200
ALL_PAIRS = PAIRS | MONEY_PAIRS
NOW = {"BTC": 61_234_56, "ETH": 2_987_65, "BNB": 655_43, "TRY": 3}


def decimal(number: int, places: int = 8) -> Decimal:
    return Decimal(number).scaleb(-places)


def rules_of(pairs: dict[str, tuple[str, str]]) -> dict[Symbol, SymbolRules]:
    one = Price(Decimal("0.01"))
    return {
        Symbol(name): SymbolRules(Symbol(name), base, quote, "TRADING", one, Quantity(one), Quantity(one))
        for name, (base, quote) in pairs.items()
    }


def fill_of(trade: HistoryTrade) -> Fill:
    return Fill(
        trade_id=trade.trade_id,
        order_id=trade.trade_id,
        symbol=Symbol(trade.symbol),
        price=Price(decimal(trade.price)),
        quantity=Quantity(decimal(trade.quantity)),
        quote_quantity=Quantity(decimal(trade.value)),
        commission=Quantity(decimal(trade.fee)),
        commission_asset=trade.fee_asset,
        time_ms=trade.time_ms,
        is_buyer=trade.is_buyer,
        is_maker=False,
    )


def some_prices(seed: int, *, unknown: float = 0.1) -> IntPrice:
    """Return prices of every minute that depend on nothing but the minute; some minutes have none."""

    def price_at(asset: str, time_ms: int) -> int | None:
        random = Random(f"{seed}:{asset}:{time_ms // 60_000}")
        return None if random.random() < unknown else random.randrange(1, 10**13)

    return price_at


def profits(made: AccountHistory, price_at: IntPrice) -> tuple[dict[str, AssetProfit], Decimal, int]:
    def known(asset: str, time_ms: int) -> Price | None:
        found = price_at(asset, time_ms)
        return None if found is None else Price(decimal(found))

    ledger = replay(map(fill_of, reversed(made.trades)), rules_of(ALL_PAIRS), known)
    balances = {asset: decimal(amount) for asset, amount in made.balances.items()}
    prices: dict[str, Price | None] = {asset: Price(decimal(number, 2)) for asset, number in NOW.items()}
    return {each.asset: each for each in settle(ledger, balances, prices)}, ledger.fees, ledger.unpriced_trades


@pytest.mark.parametrize("block", range(4))
def test_profit_and_lots_are_those_of_an_independent_reckoning_to_the_last_unit(block: int, scale: int) -> None:
    size = HISTORIES // 4 * scale
    counted = unexplained = 0
    for seed in range(block * size, (block + 1) * size):
        pairs = ALL_PAIRS if seed % 2 else PAIRS
        made, price_at = history(seed, end_ms=END_MS, pairs=pairs), some_prices(seed)

        found, fees, unpriced = profits(made, price_at)

        true = reckon(made, price_at, ALL_PAIRS)
        assert (fees, unpriced) == (decimal(true.fees, 16), true.unpriced)
        assert {*found} == {asset for asset, sums in true.assets.items() if asset not in CASH or sums.fifo}
        for asset, each in found.items():
            sums = true.assets[asset]
            assert [(lot.quantity, lot.cost, lot.time_ms) for lot in each.lots] == [
                (decimal(quantity), decimal(cost, 16), when) for quantity, cost, when in sums.lots
            ]
            lots_cost = sum(cost for _, cost, _ in sums.lots)
            assert (each.fifo.cost, each.fifo.realised) == (decimal(lots_cost, 16), decimal(sums.fifo, 16))
            assert (each.average.cost, each.average.realised) == (decimal(sums.pool[1], 16), decimal(sums.average, 16))
            assert each.quantity == decimal(sums.pool[0])
            if each.quantity:
                value = sums.pool[0] * NOW[asset] * 10**6
                assert each.fifo.unrealised == decimal(value - lots_cost, 16)
                assert each.average.unrealised == decimal(value - sums.pool[1], 16)
            assert each.held_unexplained == decimal(true.held.get(asset, 0))
            assert (each.sold_unexplained, each.proceeds_unexplained, each.gone) == (
                decimal(sums.sold),
                decimal(sums.proceeds, 16),
                decimal(sums.gone),
            )
            counted += each.is_counted
            unexplained += not each.is_explained
    assert min(counted, unexplained) > size


def test_money_that_went_in_is_cost_and_money_that_came_out_is_profit_or_unexplained() -> None:
    """Of accounts that nothing left but by sales: what trades did to the cash is what the answer says, to the unit."""
    for seed in range(60):
        made, price_at = history(seed, end_ms=END_MS, gifts_only=True), some_prices(seed, unknown=0)

        found = profits(made, price_at)[0].values()

        moved = sum(quantity for _, asset, quantity in made.others if asset in CASH)
        by_trades = sum(amount for asset, amount in made.balances.items() if asset in CASH) - moved
        assert [each.gone for each in found if each.gone] == []
        for gain in (total(each.fifo for each in found), total(each.average for each in found)):
            proceeds = sum((each.proceeds_unexplained for each in found), Decimal(0))
            assert gain.realised + proceeds - gain.cost == decimal(by_trades)


def test_a_deposit_a_reward_and_dust_change_what_is_unexplained_and_no_profit() -> None:
    for seed in range(40):
        made, price_at = history(seed, end_ms=END_MS, gifts_only=True), some_prices(seed)
        before = profits(made, price_at)[0]

        for asset, quantity in (("BTC", 3 * COIN), ("ETH", 1), ("DUST", 77)):
            made.move("deposit", asset, quantity)
        after = profits(made, price_at)[0]

        for asset in ("BTC", "ETH"):
            assert (after[asset].fifo, after[asset].average) == (before[asset].fifo, before[asset].average)
        assert after["BTC"].held_unexplained == before["BTC"].held_unexplained + 3
        assert after["ETH"].held_unexplained == before["ETH"].held_unexplained + decimal(1)
        assert (after["DUST"].held_unexplained, after["DUST"].fifo.realised) == (decimal(77), 0)
        assert after["DUST"].is_counted is False


def trade(number: int, symbol: str, *, buys: bool, price: int, quantity: str, fee: str = "0 USDT") -> HistoryTrade:
    amount, asset = fee.split()
    return HistoryTrade(
        symbol,
        number,
        END_MS + number * 60_000,
        buys,
        price * COIN,
        int(Decimal(quantity) * COIN),
        int(Decimal(amount) * COIN),
        asset,
    )


def nowhere(_asset: str, _time_ms: int) -> None:
    """Know no price at all."""


def always(price: int) -> IntPrice:
    def price_at(_asset: str, _time_ms: int) -> int:
        return price * COIN

    return price_at


def of(trades: list[HistoryTrade], price_at: IntPrice = nowhere, **balances: str) -> dict[str, AssetProfit]:
    made = AccountHistory(trades, {asset: int(Decimal(text) * COIN) for asset, text in balances.items()})
    return profits(made, price_at)[0]


def test_the_oldest_lot_is_sold_first_and_the_average_is_of_all() -> None:
    found = of(
        [
            trade(1, "BTCUSDT", buys=True, price=100, quantity="1"),
            trade(2, "BTCUSDT", buys=True, price=200, quantity="1"),
            trade(3, "BTCUSDT", buys=False, price=300, quantity="1.5", fee="3 USDT"),
        ],
        BTC="0.5",
    )["BTC"]

    assert (found.fifo.realised, found.fifo.cost) == (447 - 200, 100)
    assert (found.average.realised, found.average.cost) == (447 - 225, 75)
    assert [(lot.quantity, lot.cost) for lot in found.lots] == [(Decimal("0.5"), 100)]
    assert (found.average_price, found.is_explained) == (150, True)


def test_a_sale_of_what_was_deposited_is_no_profit() -> None:
    found = of([trade(1, "BTCUSDT", buys=False, price=300, quantity="1")], BTC="0")["BTC"]

    assert (found.fifo.realised, found.average.realised) == (0, 0)
    assert (found.sold_unexplained, found.proceeds_unexplained) == (1, 300)


def test_what_was_bought_and_withdrawn_is_gone_and_no_loss() -> None:
    found = of(
        [
            trade(1, "BTCUSDT", buys=True, price=100, quantity="1"),
            trade(2, "BTCUSDT", buys=True, price=200, quantity="1"),
        ],
        BTC="1",
    )["BTC"]

    assert (found.gone, found.fifo.realised, found.average.realised) == (1, 0, 0)
    assert (found.fifo.cost, found.average.cost) == (200, 150)


def test_a_fee_in_bnb_is_paid_from_its_lots_at_the_price_of_its_minute() -> None:
    trades = [
        trade(1, "BNBUSDT", buys=True, price=500, quantity="1"),
        trade(2, "BTCUSDT", buys=True, price=1000, quantity="1", fee="0.01 BNB"),
    ]

    found = of(trades, always(600), BTC="1", BNB="0.99")

    assert found["BTC"].fifo.cost == 1006
    assert (found["BNB"].fifo.realised, found["BNB"].fifo.cost) == (1, 495)


def test_a_fee_without_a_price_is_told_and_costs_nothing_that_is_made_up() -> None:
    trades = [trade(1, "BTCUSDT", buys=True, price=1000, quantity="1", fee="0.01 BNB")]

    ledger = replay(map(fill_of, trades), rules_of(PAIRS), nowhere)

    assert ledger.positions["BTC"].fifo_cost == 1000
    assert (ledger.unvalued_fees, ledger.fees, ledger.unpriced_trades) == ({"BNB": Decimal("0.01")}, 0, 0)


def test_coins_bought_with_a_coin_cost_what_that_one_was_worth_and_without_a_price_nothing_is_known() -> None:
    trades = [
        trade(1, "BTCUSDT", buys=True, price=1000, quantity="1"),
        replace(trade(2, "ETHBTC", buys=True, price=0, quantity="5"), price=COIN // 10),
    ]

    priced = of(trades, always(1500), BTC="0.5", ETH="5")
    unpriced = of(trades, BTC="0.5", ETH="5")

    assert (priced["ETH"].fifo.cost, priced["BTC"].fifo.realised) == (750, 250)
    assert (unpriced["ETH"].held_unexplained, unpriced["ETH"].is_counted) == (5, False)
    assert (unpriced["BTC"].gone, unpriced["BTC"].fifo.realised, unpriced["BTC"].fifo.cost) == (Decimal("0.5"), 0, 500)


def test_between_stablecoins_only_the_fee_is_lost() -> None:
    found = of([trade(1, "USDCUSDT", buys=True, price=1, quantity="100", fee="0.1 USDC")], USDC="99.9")

    assert found["USDC"].fifo.realised == Decimal("-0.1")
    assert found["USDC"].is_explained


def test_a_rebate_comes_and_lowers_the_cost() -> None:
    trades = [trade(1, "BTCUSDT", buys=True, price=1000, quantity="1", fee="-0.01 BNB")]

    found = of(trades, always(600), BTC="1", BNB="0.01")

    assert (found["BTC"].fifo.cost, found["BNB"].fifo.cost) == (994, 6)


def test_only_the_prices_are_asked_for_that_something_is_counted_with() -> None:
    trades = [
        trade(1, "BTCUSDT", buys=True, price=1000, quantity="1", fee="0.1 USDT"),
        trade(2, "BTCUSDT", buys=True, price=1000, quantity="1", fee="0.1 BNB"),
        trade(3, "BNBUSDT", buys=True, price=600, quantity="1", fee="0.1 BNB"),
        trade(4, "ETHBTC", buys=True, price=1, quantity="1", fee="0.1 ETH"),
    ]

    wanted = [*needed_prices(map(fill_of, trades), rules_of(PAIRS))]

    assert wanted == [("BNB", END_MS + 120_000), ("BTC", END_MS + 240_000)]
