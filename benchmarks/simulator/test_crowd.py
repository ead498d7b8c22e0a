"""What a member of the simulator's crowd costs."""

from time import process_time

from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.streams.subscriptions import StreamSession
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
