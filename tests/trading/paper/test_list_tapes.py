"""Lists, replacements and single orders at random on generated tapes, held against an oracle that reads the rows."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.paper import matcher as matching
from mcp_binance_server.trading.paper.market import PaperMarket
from mcp_binance_server.trading.paper.order import PaperOrder
from support.paper_market import rows
from trading.paper.auditing import audit
from trading.paper.generated import ShownBook
from trading.paper.member import Member

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]

MEMBERS, TURNS = 5, 25
usual_start, usual_sees = PaperMarket.start, PaperOrder.sees


async def played(folder: Path, seed: int, members: int) -> list[str]:
    """Let one process after the other match, each going on where the one before has left; return what is wrong."""
    chance = random.Random(seed)
    async with opened_store(folder) as store:
        store.db.execute("PRAGMA synchronous=OFF")  # nobody is killed here, and commits need not reach the disk
        for number in range(members):
            await Member(store, folder, chance, f"m{seed}x{number}", ShownBook()).run(TURNS)
            if wrong := audit(folder):
                return wrong
    return []


@pytest.mark.slow
async def test_whatever_is_placed_on_whatever_tape_the_rules_of_lists_hold(tmp_path: Path, scale: int) -> None:
    for seed in range(scale):
        folder = tmp_path / str(seed)
        assert await played(folder, seed, MEMBERS) == []

        ends = rows(folder, "SELECT shape, is_entry, status FROM paper_order WHERE list_id IS NOT NULL")
        assert {shape for shape, *_ in ends} == {"OCO", "OTO", "OTOCO", "OPO", "OPOCO"}
        assert {"FILLED", "EXPIRED", "CANCELED"} <= {status for _, is_entry, status in ends if not is_entry}
        trailing = rows(folder, "SELECT triggered, list_id IS NULL FROM paper_order WHERE trailing_bps IS NOT NULL")
        assert len({(triggered, is_single) for triggered, is_single, *_ in trailing}) == 4


def _end_nothing(_market: PaperMarket, _order: PaperOrder) -> None:
    """Let the other order of a list live on."""


def _start_early(market: PaperMarket, at_ms: int, *, takes: bool) -> None:
    """Start exits with the first part of their entry."""
    begun = [each for each in market.resting if each.part is not None and each.part.is_entry and each.filled]
    market.filled_entries += begun
    usual_start(market, at_ms, takes=takes)


def _as_written(exits: list[PaperOrder], _received: Quantity, _step: Quantity) -> Quantity:
    return exits[0].quantity


def _forget_the_best(order: PaperOrder, price: Price) -> bool:
    """Trigger on a turn since the last print alone."""
    order.best = None
    return usual_sees(order, price)


@pytest.mark.parametrize(
    ("where", "name", "broken"),
    [
        (PaperOrder, "sees", _forget_the_best),
        (PaperMarket, "_end_others", _end_nothing),
        (PaperMarket, "start", _start_early),
        (matching, "exit_quantity", _as_written),
    ],
)
async def test_a_market_that_breaks_a_rule_of_lists_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: object, name: str, broken: Callable[..., object]
) -> None:
    monkeypatch.setattr(where, name, broken)

    assert await played(tmp_path, 0, MEMBERS)
