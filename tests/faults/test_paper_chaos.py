"""Orders on paper while the market's streams are cut, torn and silent: no fill better than what was truly traded."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault, StreamFault, StreamKind
from support.attacked import Assistant, FormUser, assistant
from support.desk import raw
from support.paper_market import NOW_MS, rows

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

ROUNDS = 10
# Whoever rests queues behind all that was there.
REST_SECS = 30
POLICY = "[limits]\norders_per_minute = 1000\norders_per_day = 10000\nopen_orders = 1000\n"
KINDS: tuple[StreamKind, ...] = (
    "cut",
    "gap",
    "crossed",
    "drop",
    "duplicate",
    "swap",
    "malformed",
    "bad_price",
    "bad_quantity",
)
STREAMS = ("*", "btcusdt@depth@100ms", "btcusdt@aggTrade")
# The last is a stream that is silent for seconds.
TIMES = (1, 2, 4, 40)
SAMPLE_MS, LATE_MS = 50, 3_000
FILLS = (
    "SELECT f.price, f.quantity, f.is_buyer, f.is_maker, f.print, f.at_ms, o.price, o.created_ms, o.executed, "
    "o.quantity FROM paper_fill f JOIN paper_order o USING (order_id)"
)


@dataclass(frozen=True, slots=True)
class TrueMarket:
    """What the exchange knows, past every stream."""

    exchange: SimulatedExchange
    traded: dict[int, tuple[Decimal, Decimal]]

    def best(self, from_ms: int, to_ms: int, *, is_buyer: bool) -> Decimal:
        """Return the best price that anybody could have had in a while."""
        listed, market = self.exchange.listing.symbols["BTCUSDT"], self.exchange.stage.market
        seen = [market.depth(listed, 1, at_ms) for at_ms in range(from_ms, to_ms + 1, SAMPLE_MS)]
        prices = [Decimal(listed.price((each.asks if is_buyer else each.bids)[0][0])) for each in seen]
        return min(prices) if is_buyer else max(prices)


async def true_market(exchange: SimulatedExchange) -> TrueMarket:
    told: list[dict[str, Any]] = []
    while not told or told[-1]["T"] < exchange.now_ms():
        asked = f"fromId={told[-1]['a'] + 1}" if told else f"startTime={NOW_MS}&endTime={NOW_MS + 600_000}"
        if not (more := await raw(exchange, f"aggTrades?symbol=BTCUSDT&limit=1000&{asked}")):
            break
        told += more
    return TrueMarket(exchange, {each["a"]: (Decimal(each["p"]), Decimal(each["q"])) for each in told})


def better_than_true(fills: list[tuple[Any, ...]], market: TrueMarket) -> list[str]:
    """Return every fill that nobody could have had."""
    found: list[str] = []
    given: dict[int, Decimal] = defaultdict(Decimal)
    for price, quantity, is_buyer, is_maker, tape_id, at_ms, limit, created_ms, executed, whole in fills:
        paid, wanted = Decimal(price), Decimal(limit)
        found += [] if Decimal(executed) <= Decimal(whole) else [f"{executed} of {whole}"]
        found += [] if (paid <= wanted if is_buyer else paid >= wanted) else [f"{paid} beyond its limit {wanted}"]
        if is_maker:
            there, size = market.traded.get(tape_id, (None, Decimal(0)))
            given[tape_id] += Decimal(quantity)
            reached = there is not None and (there <= wanted if is_buyer else there >= wanted)
            found += [] if reached and paid == wanted else [f"made at {paid} by print {tape_id} at {there}"]
            found += [] if given[tape_id] <= size else [f"print {tape_id} of {size} given {given[tape_id]}"]
        else:
            best = market.best(created_ms - LATE_MS, at_ms, is_buyer=bool(is_buyer))
            found += [] if (paid >= best if is_buyer else paid <= best) else [f"taken at {paid}, best was {best}"]
    return found


async def traded_through(of: Assistant, random: Random, rounds: int) -> None:
    """Place orders of all kinds while the streams suffer; who places them does not care what becomes of them."""
    streams, answers = of.market.exchange.hub.faults, of.market.exchange.faults
    for number in range(rounds):
        shown = await of.call("get_order_book", {"symbol": "BTCUSDT", "limit": 5})
        amount = f"{Decimal('0.0003') + number * Decimal('0.00001'):f}"
        side = random.choice(("BUY", "SELL"))
        touch = shown["bids" if side == "BUY" else "asks"][0][0] if "bids" in shown else "118000"
        order = random.choice(
            ({"type": "MARKET"}, {"type": "LIMIT", "price": touch}, {"type": "LIMIT", "price": touch})
        )
        streams.add(StreamFault(kind=random.choice(KINDS), stream=random.choice(STREAMS), times=random.choice(TIMES)))
        if number % 5 == 4:
            answers.add(Fault(kind="cut_before", path="*/depth", times=2))
        preview = await of.call("preview_order", {"symbol": "BTCUSDT", "side": side, "quantity": amount, **order})
        if preview.get("preview_id"):
            await of.call("place_order", {"preview_id": preview["preview_id"]})
        await of.market.run(random.uniform(0.2, 2.5))
    streams.clear()
    await of.market.run(REST_SECS)


@pytest.mark.timeout(600)
async def test_whatever_happens_to_its_streams_no_fill_is_better_than_the_tape(tmp_path: Path, scale: int) -> None:
    async with assistant(tmp_path, POLICY, FormUser("nobody")) as of:
        await traded_through(of, Random("paper"), scale * ROUNDS)
        status = await of.call("get_trading_status", {})
        market = await true_market(of.market.exchange)

    fills = rows(tmp_path, FILLS)
    assert {bool(each[3]) for each in fills} == {True, False}, "nobody was made or taken"
    assert better_than_true(fills, market) == []
    assert status["mode"] == "paper"
    assert all(not str(each["free"]).startswith("-") for each in status["balances"])
    # The judge must notice: a cent better, a print that was not, a print given twice.
    made, taken = (next(each for each in fills if bool(each[3]) is is_maker) for is_maker in (True, False))
    cheap = (str(Decimal(taken[0]) * (Decimal("0.99") if taken[2] else Decimal("1.01"))), *taken[1:])
    assert better_than_true([cheap], market)
    assert better_than_true([(*made[:4], -1, *made[5:])], market)
    assert better_than_true([made] * 10_000, market)
