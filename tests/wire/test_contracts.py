"""The list of contracts: one request an hour, every way to write one, and the nearest of those that exist."""

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.errors import ExchangeUnavailable, InvalidSymbol
from mcp_binance_server.upstream import FuturesSide
from support.answering import Answering
from support.clock import FakeClock
from support.desk import OpenFutures

HOUR_MS = 3_600_000
CONTRACT = {
    "symbol": "BTCUSDT", "pair": "BTCUSDT", "contractType": "PERPETUAL", "status": "TRADING", "baseAsset": "BTC",
    "quoteAsset": "USDT", "onboardDate": 1, "deliveryDate": 2, "underlyingType": "COIN",
    "filters": [{"filterType": "PRICE_FILTER", "tickSize": "0.10"}, {"filterType": "UNKNOWN", "limit": 7}],
}  # fmt: skip
LIMIT = {"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": 1_800}


async def test_the_list_is_asked_for_once_an_hour_for_everybody(
    futures: FuturesSide, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with anyio.create_task_group() as group:
        for text in ("btcusdt", "ETHUSDT.P", "solusdt") * 20:
            group.start_soon(futures.contracts.find, text)
    clock.advance(HOUR_MS - 1)
    await futures.contracts.table()
    asked = [request.path for request in exchange.futures.requests]
    clock.advance(1)
    await futures.contracts.table()

    assert asked == ["/fapi/v1/exchangeInfo"]
    assert len(exchange.futures.requests) == 2


@pytest.mark.parametrize("text", ["BTCUSDT", "btcusdt", " BTCUSDT.P ", "BTCUSDTPERP", "btcusdt_perp", "BTCUSDT-PERP"])
async def test_a_perpetual_is_found_as_people_write_it(text: str, futures: FuturesSide) -> None:
    contract = await futures.contracts.find(text)

    assert (contract.symbol, contract.base, contract.quote, contract.underlying) == ("BTCUSDT", "BTC", "USDT", "crypto")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("PEPEUSDT", "1000PEPEUSDT"),
        ("pepe", "1000PEPEUSDT"),
        ("SHIBUSDT", "1000SHIBUSDT"),
        ("BTC", "BTCUSDT"),
        ("SOLUSD", "SOLUSDT"),
    ],
)
async def test_who_names_no_contract_is_told_which_one_was_meant(text: str, meant: str, futures: FuturesSide) -> None:
    with pytest.raises(InvalidSymbol) as caught:
        await futures.contracts.find(text)

    assert caught.value.did_you_mean[0] == meant
    assert caught.value.market == "perpetual"
    assert caught.value.status is None


async def test_a_contract_that_does_not_trade_is_refused_with_its_status(futures: FuturesSide) -> None:
    with pytest.raises(InvalidSymbol, match="SETTLING") as caught:
        await futures.contracts.find("lunausdt")

    assert caught.value.data()["status"] == "SETTLING"
    assert caught.value.data()["provided_symbol"] == "LUNAUSDT"


async def test_what_expires_is_no_perpetual(futures: FuturesSide, clock: FakeClock) -> None:
    deliveries = (await futures.contracts.table()).deliveries("BTCUSDT")

    assert [each.delivery_ms > clock.now_ms() for each in deliveries] == [True, True]
    with pytest.raises(InvalidSymbol, match="no perpetual"):
        await futures.contracts.find(deliveries[0].symbol)


@pytest.mark.parametrize("text", ["", " ", "x" * 41])
async def test_what_cannot_be_a_contract_costs_nothing(
    text: str, futures: FuturesSide, exchange: SimulatedExchange
) -> None:
    with pytest.raises(InvalidSymbol):
        await futures.contracts.find(text)

    assert exchange.futures.requests == []


async def test_the_true_limit_is_taken_from_the_list_and_bad_contracts_are_left_out(
    open_futures: OpenFutures, caplog: pytest.LogCaptureFixture
) -> None:
    bad = [CONTRACT | {"symbol": "A\nB"}, CONTRACT | {"symbol": None}, {"symbol": "SHORT"}]

    async with open_futures(Answering({"rateLimits": [LIMIT], "symbols": [CONTRACT, *bad]})) as futures:
        before = futures.client.caller.budget.limit
        table = await futures.contracts.table()

        assert list(table.contracts) == ["BTCUSDT"]
        assert str(table.contracts[next(iter(table.contracts))].tick) == "0.10"
        assert (before, futures.client.caller.budget.limit) == (2_400, 1_800)
        assert futures.client.reads.dropped == 3

    assert "3 contracts" in caplog.text


async def test_a_funding_rule_that_makes_no_sense_is_left_out_and_counted(open_futures: OpenFutures) -> None:
    rule = {"symbol": "SOLUSDT", "adjustedFundingRateCap": "0.02", "adjustedFundingRateFloor": "-0.02"}
    rows = [{**rule, "fundingIntervalHours": 4}, {**rule, "fundingIntervalHours": "often"}, None]

    async with open_futures(Answering(rows)) as futures:
        assert {str(symbol): each.interval_hours for symbol, each in (await futures.contracts.rules()).items()} == {
            "SOLUSDT": 4
        }
        assert futures.client.reads.dropped == 2


async def test_a_list_of_nothing_readable_is_no_list(open_futures: OpenFutures) -> None:
    async with open_futures(Answering(b'{"rateLimits":[],"symbols":[{}]}')) as futures:
        with pytest.raises(ExchangeUnavailable, match="could not be read"):
            await futures.contracts.table()


async def test_an_old_list_serves_while_the_host_does_not_answer(
    futures: FuturesSide, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await futures.contracts.table()
    clock.advance(HOUR_MS)
    exchange.futures.faults.add(Fault(kind="status", status=503, times=None))

    found = await futures.contracts.find("BTCUSDT")
    asked = len(exchange.futures.requests)
    await futures.contracts.find("ETHUSDT")

    assert found.symbol == "BTCUSDT"
    assert len(exchange.futures.requests) == asked


async def test_funding_rules_are_asked_for_once_an_hour_and_counted(
    futures: FuturesSide, exchange: SimulatedExchange
) -> None:
    rules = await futures.contracts.rules()
    again = await futures.contracts.rules()

    assert rules == again
    assert {each.interval_hours for each in rules.values()} >= {8, 4, 1}
    assert all(each.floor < 0 < each.cap for each in rules.values())
    assert [request.path for request in exchange.futures.requests] == ["/fapi/v1/fundingInfo"]
    assert exchange.futures.funding_requests.total == 1
