"""What trading takes from outside, broken in thousands of ways: previews that were kept, and answers to a form."""

import json
from random import Random
from typing import Any

import pytest
from mcp import types

from mcp_binance_server.services.trading.previews import MOST_BYTES, Previews, shelf_of
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.surface.confirm import Question
from support.clock import FakeClock
from support.mutating import mutant, mutated
from support.terms import KEY, NOW_MS, terms

pytestmark = pytest.mark.flood

PREVIEWS, FORMS, FLOOD = 4_000, 4_000, 500
ME, OTHER = "local", "f" * 16
# Each would make another order of it, or let it be placed by somebody else, later, or past a limit.
CHANGES: dict[str, Any] = {
    "quantity": "9", "price": "1", "side": "SELL", "symbol": "PEPEUSDT", "account": "paper-0", "mode": "live",
    "expires_ms": 2**62, "counted": 0, "policy": "", "nonce": "1", "kind": "MARKET", "stop_price": "1",
    "time_in_force": "FOK", "network": "testnet",
}  # fmt: skip


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine(FakeClock(NOW_MS))


async def test_a_kept_preview_that_was_changed_is_as_none(engine: MemoryEngine, scale: int) -> None:
    previews, random = Previews(engine, KEY), Random("previews")
    kept = await previews.keep(terms(), ME, "BTC", NOW_MS)
    value = await engine.shelved(shelf_of(ME), kept.preview_id)
    assert value is not None

    async def found_after(changed: bytes, visitor: str = ME) -> object:
        await engine.shelve(shelf_of(visitor), kept.preview_id, changed, ttl_ms=60_000, most_bytes=MOST_BYTES)
        return await previews.find(kept.preview_id, visitor)

    for _ in range(scale * PREVIEWS):
        changed = mutant(random, value)
        assert await found_after(changed) == (kept if changed == value else None)
    text = value[value.index(b"{") :]
    told: dict[str, Any] = json.loads(text)
    for name, change in CHANGES.items():
        order = json.dumps({**json.loads(told["terms"]), name: change}, sort_keys=True, separators=(",", ":"))
        assert await found_after(value.replace(text, json.dumps({**told, "terms": order}).encode())) is None, name
    assert await found_after(value.replace(b'"BTC"', b'"ETH"')) is None
    assert await found_after(value, OTHER) is None
    assert await found_after(value) == kept


async def test_a_flood_of_previews_costs_nobody_else_theirs_and_no_memory(engine: MemoryEngine, scale: int) -> None:
    previews = Previews(engine, KEY)
    mine = await previews.keep(terms(), ME, "BTC", NOW_MS)

    theirs = [await previews.keep(terms(nonce=f"{n}"), OTHER, "BTC", NOW_MS) for n in range(scale * FLOOD)]

    left = [each for each in theirs if await previews.find(each.preview_id, OTHER)]
    assert await previews.find(mine.preview_id, ME) == mine
    assert 0 < sum(len(each.terms.to_json()) for each in left) <= MOST_BYTES


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_no_form_but_the_one_with_the_choice_in_it_is_a_yes(action: str, scale: int) -> None:
    question, random = Question("x" * 20, "PAPER: place this order?", "place this order", "do not place it"), Random(7)
    chosen = {"decision": question.yes}

    def decided(content: object) -> str:
        return question.decided_by(types.ElicitResult.model_construct(action=action, content=content))

    for _ in range(scale * FORMS):
        content = mutated(random, random.choice((chosen, {"decision": question.no}, {})))
        is_the_choice = action == "accept" and content == chosen
        assert decided(content) == ("yes" if is_the_choice else "no"), content
    strangers: list[object] = [None, [], "place this order", True]
    assert [decided(each) for each in strangers] == ["no"] * 4
    assert decided(chosen) == ("yes" if action == "accept" else "no")
