"""Orders while the network resets, stalls, tears and garbles: in the end exchange and journal say the same of each.

`scripts/test --scale 20 tests/faults/test_order_chaos.py` places some hundreds more.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from support.attacked import Assistant, FormUser
from support.orders.chaos import HARMS, disagreements, run_chaos
from support.orders.wire import wire_market
from support.paper_market import new_world

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

ROUNDS, LIVES = 6, 3


@pytest.mark.timeout(1800)
async def test_whatever_is_lost_no_order_is_doubled_and_each_is_known_in_the_end(tmp_path: Path, scale: int) -> None:
    run = await run_chaos(tmp_path, ROUNDS * scale, LIVES)

    assert run.disagreements == []
    assert run.failed == []
    assert {each.partition(" ")[2].partition(",")[0] for each in run.harms} == {*HARMS}
    assert min(run.outcomes["placed"], run.outcomes["unknown"], run.orders) > 0


async def test_the_judge_notices_a_double_a_loss_and_an_order_that_stands_otherwise(tmp_path: Path) -> None:
    world, user = new_world(), FormUser("nobody")
    async with wire_market(tmp_path, "", "practice", world) as market:
        of = Assistant(market, await market.join("auto", elicitation_callback=user.answer), user)
        await of.placed({"side": "BUY", "quantity": "0.0004", "price": "100000"})
    desk = world.exchange.orders
    assert disagreements(tmp_path, world.exchange) == []

    (first,) = desk.accepted
    desk.accepted.append(first)
    assert "2 times" in str(disagreements(tmp_path, world.exchange))
    desk.accepted[:] = [replace(first, client_order_id="mbt-other")]
    desk.records.orders[first.order_id].wanted = replace(
        desk.records.orders[first.order_id].wanted, client_order_id="mbt-other"
    )
    assert len(disagreements(tmp_path, world.exchange)) == 2
