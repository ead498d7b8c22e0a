"""What is computed for a population without simulating: processes, memory, addresses, money."""

from dataclasses import replace

import pytest

from scale.exchange_side import CEILING, DIALS_A_MINUTE, ways
from scale.plan import PLANNED, best_fleet, bills, fleet_for, full_engine, full_process
from scale.round_costs import ROUND
from scale.shape import Shape


def test_the_smallest_fleet_suffices_and_one_less_would_not() -> None:
    shape = fleet_for(20_000, ROUND)

    assert shape is not None
    assert shape.demand(ROUND).process <= PLANNED
    smaller = replace(shape, processes=shape.processes - 1, readers=shape.processes - 1)
    assert smaller.demand(ROUND).process > PLANNED


def test_no_fleet_suffices_where_books_alone_fill_a_process() -> None:
    heavy = replace(ROUND, symbols=600)

    assert fleet_for(10_000, heavy) is None
    groups, shape = best_fleet(10_000, heavy)
    assert groups > 1
    assert shape.passed_on == 1 - 1 / groups


def test_readers_kept_together_leave_fewer_books_to_each_process() -> None:
    everywhere, together = fleet_for(50_000, ROUND), fleet_for(50_000, ROUND, groups=4)

    assert everywhere is not None
    assert together is not None
    assert together.demand(ROUND).books < everywhere.demand(ROUND).books / 2


def test_a_process_is_full_where_its_demand_is_one() -> None:
    full = round(full_process(ROUND, 40))

    assert Shape(full, 1, ROUND.pause_secs, 40).demand(ROUND).process == pytest.approx(1, rel=0.001)


def test_the_engine_is_full_where_its_demand_is_one() -> None:
    full = full_engine(ROUND, 1)

    shape = fleet_for(full, ROUND)
    assert shape is not None
    assert shape.demand(ROUND).engine == pytest.approx(1, rel=0.02)


def test_an_address_that_asks_has_room_for_270_account_pages_a_minute() -> None:
    asking = ways(1 / 5)[0]

    assert asking.most_keys(60) == CEILING / 20 * 5 == 1_350
    assert asking.addresses(1_000_000, 60) == pytest.approx(740.7, abs=0.1)


def test_a_connection_a_key_is_bound_by_connections_and_a_shared_one_by_weight() -> None:
    _, own, shared, _ = ways(1 / 5)

    assert own.most_keys(60) == pytest.approx(DIALS_A_MINUTE * 60, rel=0.05)
    assert shared.most_keys(60) == pytest.approx(CEILING / 22 * 60, rel=0.05)


def test_listening_to_a_session_that_ends_at_once_costs_more_than_asking() -> None:
    asking, own, *_ = ways(1 / 5)

    assert own.weight(1_000, 2) > asking.weight(1_000, 2)
    assert own.weight(1_000, 60) < asking.weight(1_000, 60) / 5


def test_a_bill_is_its_three_parts_and_grows_with_the_fleet() -> None:
    small, large = fleet_for(10_000, ROUND), fleet_for(40_000, ROUND)
    assert small is not None
    assert large is not None

    pairs = zip(bills(small, ROUND, 1), bills(large, ROUND, 1), strict=True)

    for one, other in pairs:
        assert one.usd == one.machines_usd + one.addresses_usd + one.traffic_usd
        assert other.machines > one.machines
        assert other.traffic_usd == pytest.approx(4 * one.traffic_usd)
