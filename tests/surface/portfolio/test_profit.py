"""get_portfolio with profit: what the whole product says of generated accounts, and what it says it did not read."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.listing import decimal_string
from binance_simulator.market.portfolio import ZERO, Balance, Fill, Portfolio
from mcp_binance_server.services.account import profit as profit_service
from support.account_histories import PAIRS, AccountHistory, HistoryTrade, Reckoning, history, reckon
from support.channels import Structure, Text
from support.clock import FakeClock
from support.golden import Golden
from support.served import text_of

MINUTE_MS = 60_000
CENT = Decimal("0.01")


def fill_of(trade: HistoryTrade) -> Fill:
    return Fill(
        symbol=trade.symbol,
        trade_id=trade.trade_id,
        order_id=trade.trade_id,
        price=decimal_string(trade.price),
        quantity=decimal_string(trade.quantity),
        value=decimal_string(trade.value),
        commission=decimal_string(trade.fee),
        commission_asset=trade.fee_asset,
        time_ms=trade.time_ms,
        buyer=trade.is_buyer,
        maker=False,
    )


def live(exchange: SimulatedExchange, made: AccountHistory) -> None:
    balances = tuple(Balance(asset, decimal_string(amount), ZERO) for asset, amount in made.balances.items())
    fills = tuple(fill_of(each) for each in made.trades)
    exchange.stage = replace(exchange.stage, portfolio=Portfolio(balances, fills=fills))


async def closes(client: Client, made: AccountHistory) -> dict[tuple[str, int], int]:
    """Return what BNB cost in the minute of each fee in it, and BTC where it paid, by candles that everybody sees."""
    wanted = {("BNB", each.time_ms) for each in made.trades if each.fee_asset == "BNB"}
    wanted |= {("BTC", each.time_ms) for each in made.trades if each.symbol.endswith("BTC")}
    found: dict[tuple[str, int], int] = {}
    for asset, time_ms in wanted:
        asked = {"symbol": f"{asset}USDT", "interval": "1m", "limit": 1, "end": time_ms}
        answer = (await client.call_tool("get_klines", asked)).structured_content
        close = answer["rows"][0].split(",")[answer["columns"].split(",").index("close")]
        found[asset, time_ms - time_ms % MINUTE_MS] = int(Decimal(close).scaleb(8))
    return found


def money(units: int) -> Decimal:
    return Decimal(units).scaleb(-16).quantize(CENT)


def told(text: str) -> Decimal:
    return Decimal(text).quantize(CENT)


def check(answer: dict[str, Any], made: AccountHistory, true: Reckoning) -> None:
    profit, prices = answer["profit"], {row["asset"]: row["price"] for row in answer["holdings"]}
    unexplained = {row["asset"]: row for row in profit["unexplained"]}
    rows = {row["asset"]: row for row in profit["assets"]}
    for asset, sums in true.assets.items():
        if asset in rows:
            row = rows[asset]
            cost = sum(each[1] for each in sums.lots)
            assert Decimal(row["quantity"]).scaleb(8) == sums.pool[0]
            assert row["lots"] == len(sums.lots)
            assert (told(row["fifo_cost"]), told(row["fifo_realised"])) == (money(cost), money(sums.fifo))
            assert told(row["average_cost"]) == money(sums.pool[1])
            assert told(row["average_realised"]) == money(sums.average)
            if sums.pool[0]:
                value = int(Decimal(prices[asset]).scaleb(8)) * sums.pool[0]
                assert told(row["fifo_unrealised"]) == money(value - cost)
                assert told(row["average_unrealised"]) == money(value - sums.pool[1])
        else:
            assert (sums.pool[0], sums.fifo, sums.average) == (0, 0, 0)
        said = unexplained.get(asset, {"held": "0", "sold": "0", "proceeds": "0", "gone": "0"})
        assert Decimal(said["held"]).scaleb(8) == true.held[asset]
        assert (Decimal(said["sold"]).scaleb(8), Decimal(said["gone"]).scaleb(8)) == (sums.sold, sums.gone)
        assert told(said["proceeds"]) == money(sums.proceeds)
    assert told(profit["fees"]) == money(true.fees)
    assert profit["trades"] == len(made.trades)
    assert told(profit["all"]["fifo_realised"]) == money(sum(each.fifo for each in true.assets.values()))
    assert told(profit["all"]["average_realised"]) == money(sum(each.average for each in true.assets.values()))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_the_whole_product_says_what_an_independent_reckoning_says(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, seed: int
) -> None:
    made = history(seed, events=24, end_ms=clock.now_ms())
    live(exchange, made)
    known = await closes(client, made)

    result = await client.call_tool("get_portfolio", {"symbols": [*PAIRS]})

    true = reckon(made, lambda asset, time_ms: known.get((asset, time_ms - time_ms % MINUTE_MS)))
    check(result.structured_content, made, true)
    assert true.unpriced == 0
    assert Text(text_of(result)).missing(result.structured_content) == []
    assert Structure(result.structured_content).missing(text_of(result)) == []


async def test_a_profit_is_told_as_reviewed(client: Client, golden: Golden) -> None:
    result = await client.call_tool("get_portfolio", {"profit": True})

    below = text_of(result)[text_of(result).index("## Profit, FIFO") :]
    assert "This is not tax advice." in below
    golden.check("tools/get_portfolio.profit.json", result.structured_content["profit"])
    golden.check("tools/get_portfolio.profit.md", below + "\n")


async def test_lines_of_the_profit_fit_a_terminal(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    live(exchange, history(1, events=40, end_ms=clock.now_ms()))

    page = text_of(await client.call_tool("get_portfolio", {"profit": True}))

    below = page[page.index("## Profit, FIFO") : page.index("**Fees**")]
    assert [line for line in below.splitlines() if len(line) > 80] == []


async def test_profit_is_read_only_when_it_is_asked_for(client: Client, exchange: SimulatedExchange) -> None:
    result = await client.call_tool("get_portfolio", {})

    assert "profit" not in result.structured_content
    assert "Profit" not in text_of(result)
    assert [each for each in exchange.requests if each.path.endswith("myTrades")] == []


@pytest.mark.slow
async def test_what_was_read_is_named_with_its_cost(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    made = history(2, events=24, end_ms=clock.now_ms())
    live(exchange, made)
    await client.call_tool("get_portfolio", {})
    exchange.requests.clear()

    profit = (await client.call_tool("get_portfolio", {"profit": True})).structured_content["profit"]

    paths = [
        each
        for each in exchange.requests
        if each.path.endswith(("myTrades", "openOrders")) or each.params.get("interval") == "1m"
    ]
    assert profit["calls"] == len(paths)
    assert profit["weight"] == sum(each.weight for each in paths)
    assert sorted(profit["pairs_read"]) == sorted(each.params["symbol"] for each in paths if "myTrades" in each.path)


async def test_prices_of_minutes_that_ended_are_asked_for_once(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    live(exchange, history(3, events=24, end_ms=clock.now_ms()))
    first = (await client.call_tool("get_portfolio", {"profit": True})).structured_content["profit"]
    exchange.requests.clear()
    clock.advance(5)

    again = (await client.call_tool("get_portfolio", {"profit": True})).structured_content["profit"]

    assert [each for each in exchange.requests if each.params.get("interval") == "1m"] == []
    assert again["calls"] < first["calls"]
    assert (again["all"]["fifo_realised"], again["fees"]) == (first["all"]["fifo_realised"], first["fees"])


def many(count: int, end_ms: int) -> AccountHistory:
    """Return purchases of 0.01 BTC, three in a millisecond, a second apart."""
    trade = HistoryTrade("BTCUSDT", 1, end_ms, is_buyer=True, price=5 * 10**12, quantity=10**6, fee=0, fee_asset="USDT")
    trades = [
        replace(trade, trade_id=1 + number, time_ms=end_ms - (count - number) // 3 * 1000) for number in range(count)
    ]
    return AccountHistory(trades, {"BTC": count * 10**6})


async def test_pages_before_the_newest_are_read_and_met_trades_count_once(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    live(exchange, many(2_100, clock.now_ms()))

    profit = (await client.call_tool("get_portfolio", {"profit": True})).structured_content["profit"]

    (row,) = profit["assets"]
    assert (profit["trades"], row["quantity"], row["fifo_cost"]) == (2_100, "21", "1050000.00")
    assert profit["unexplained"] == []
    assert "older_not_read" not in profit


async def test_what_there_was_no_room_for_is_unexplained_and_said(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profit_service, "MORE_PAGES", 0)
    live(exchange, many(1_500, clock.now_ms()))

    result = await client.call_tool("get_portfolio", {"profit": True})

    profit = result.structured_content["profit"]
    assert (profit["trades"], profit["unexplained"][0]["held"]) == (1_000, "5")
    (said,) = profit["older_not_read"]
    assert said.startswith("BTCUSDT before 20")
    assert f"**Older Not Read**: {said}" in text_of(result)


async def test_pairs_beyond_the_most_are_named(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profit_service, "MOST_PAIRS", 3)
    live(exchange, history(2, events=24, end_ms=clock.now_ms()))

    result = await client.call_tool("get_portfolio", {"symbols": ["solusdt"]})

    profit = result.structured_content["profit"]
    assert (profit["pairs_read"][0], len(profit["pairs_read"])) == ("SOLUSDT", 3)
    assert profit["pairs_not_read"]
    assert f"**Pairs Not Read**: {', '.join(profit['pairs_not_read'])}" in text_of(result)


async def test_a_fee_in_an_asset_without_a_price_is_said(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    made = many(1, clock.now_ms())
    made.trades[0] = replace(made.trades[0], fee=7, fee_asset="NOBODY")
    live(exchange, made)

    result = await client.call_tool("get_portfolio", {"profit": True})

    assert result.structured_content["profit"]["fees_unvalued"] == ["0.00000007 NOBODY"]
    assert "**Fees Unvalued**: 0.00000007 NOBODY" in text_of(result)


@pytest.mark.slow
async def test_prices_there_was_no_room_for_are_read_the_next_time(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profit_service, "PRICE_CALLS", 1)
    live(exchange, history(3, events=24, end_ms=clock.now_ms()))

    results = [await client.call_tool("get_portfolio", {"symbols": [*PAIRS]}) for _ in range(5)]

    answers = [each.structured_content["profit"] for each in results]
    left = [each.get("prices_not_read", 0) for each in answers]
    assert left == [3, 2, 1, 0, 0]
    assert f"**Prices Not Read**: {left[0]} calls; call again" in text_of(results[0])
    assert "fees_unvalued" in answers[0]
    assert "fees_unvalued" not in answers[-1]
    assert Text(text_of(results[0])).missing(results[0].structured_content) == []
    assert Structure(results[0].structured_content).missing(text_of(results[0])) == []


async def test_a_quote_that_is_priced_the_other_way_round_is_valued_by_the_inverse(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    trade = replace(many(1, clock.now_ms()).trades[0], symbol="BTCTRY", price=2 * 10**14, fee_asset="TRY")
    live(exchange, AccountHistory([trade], {"BTC": trade.quantity}))
    asked = {"symbol": "USDTTRY", "interval": "1m", "limit": 1, "end": trade.time_ms}
    candle = (await client.call_tool("get_klines", asked)).structured_content

    profit = (await client.call_tool("get_portfolio", {"symbols": ["BTCTRY"]})).structured_content["profit"]

    lira = Decimal(candle["rows"][0].split(",")[candle["columns"].split(",").index("close")])
    assert told(profit["assets"][0]["fifo_cost"]) == (Decimal(trade.value).scaleb(-8) / lira).quantize(CENT)


@pytest.mark.slow
async def test_a_pair_that_does_not_answer_gives_no_profit_at_all(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path="*/myTrades", status=400, code=-1100, msg="Illegal characters."))

    result = await client.call_tool("get_portfolio", {"profit": True})

    assert result.is_error is True


async def test_an_account_without_trades_says_so(client: Client, exchange: SimulatedExchange) -> None:
    live(exchange, AccountHistory([], {"BTC": 10**8, "USDT": 10**10}))

    result = await client.call_tool("get_portfolio", {"profit": True})

    profit = result.structured_content["profit"]
    assert (profit["trades"], profit["assets"], profit["unexplained"][0]["held"]) == (0, [], "1")
    assert "No trades found on these pairs." in text_of(result)
    assert Text(text_of(result)).missing(result.structured_content) == []
    assert Structure(result.structured_content).missing(text_of(result)) == []
