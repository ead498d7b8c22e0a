"""What a member of the simulator's crowd costs."""

from collections.abc import Callable
from time import process_time

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.rest.futures_board import day_row, premium_row
from binance_simulator.rest.tickers import day_body
from binance_simulator.streams.subscriptions import StreamSession
from support.clock import FakeClock


async def test_a_member_costs_a_small_part_of_a_market(clock: FakeClock) -> None:
    exchange = SimulatedExchange(clock, crowd=12)

    def cost(name: str) -> float:
        session = StreamSession(exchange, combined=True)
        session.subscribe([f"{name}@depth@100ms"])
        begun = process_time()
        clock.advance(10_000)
        events = list(session.due(clock.now_ms()))
        return (process_time() - begun) / len(events)

    assert min(cost("crowd004usdt") for _ in range(3)) < cost("adausdt") / 3


async def test_a_whole_market_costs_little_once_it_was_added_up(clock: FakeClock) -> None:
    exchange = SimulatedExchange(clock, crowd=1_500, contracts=900)
    market = exchange.futures.market
    ordinary = [symbol for symbol in exchange.listing.symbols.values() if not symbol.name.startswith("CROWD")]
    members = [symbol for symbol in exchange.listing.symbols.values() if symbol.name.startswith("CROWD")]
    contracts = list(exchange.futures.contracts(clock.now_ms()).values())

    def cost(make: Callable[[int], object]) -> float:
        make(clock.now_ms())
        clock.advance(1_000)
        begun = process_time()
        make(clock.now_ms())
        return process_time() - begun

    usual = cost(lambda now_ms: [day_body(exchange, symbol, now_ms) for symbol in ordinary]) / len(ordinary)
    spot = cost(lambda now_ms: [day_body(exchange, symbol, now_ms) for symbol in members])
    days = cost(lambda now_ms: [day_row(market, contract, now_ms) for contract in contracts])
    marks = cost(lambda now_ms: [premium_row(market, contract, now_ms) for contract in contracts])

    # With a history for each member one row took 1.5 ms, ten times that of an ordinary symbol.
    assert max(spot / len(members), days / len(contracts), marks / len(contracts)) < usual
