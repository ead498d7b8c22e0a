"""More connections than a process takes: somebody new gets in, and whoever holds most loses what it needs least."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_binance_server.transports.http.server.connection_registry import ConnectionRegistry


def entered(crowd: ConnectionRegistry[str], connection: str, party: str) -> str | None:
    has_room, gone = crowd.make_room(party)
    if not has_room:
        return "refused"
    crowd.enter(connection, party)
    return gone


def filled(crowd: ConnectionRegistry[str], party: str, number: int) -> list[str]:
    names = [f"{party}{each}" for each in range(number)]
    assert [entered(crowd, name, party) for name in names] == [None] * number
    return names


def test_with_room_nobody_goes_and_beyond_it_the_oldest_of_the_largest_group_that_was_not_let_in() -> None:
    crowd = ConnectionRegistry[str](6)
    filled(crowd, "m", 4)
    filled(crowd, "b", 2)
    crowd.asked("m0")

    assert [entered(crowd, "c0", "c"), entered(crowd, "c1", "c")] == ["m0", "m1"]
    assert len(crowd) == 6


def test_who_has_just_come_to_a_crowd_of_half_requests_has_time_to_ask() -> None:
    crowd = ConnectionRegistry[str](4)
    for name in filled(crowd, "address", 4):
        crowd.asked(name)

    assert entered(crowd, "modest", "address") == "address0"
    assert [entered(crowd, f"more{number}", "address") for number in range(3)] == ["address1", "address2", "address3"]


def test_the_order_is_not_let_in_then_idle_then_the_longest_at_work() -> None:
    crowd = ConnectionRegistry[str](8)
    filled(crowd, "address", 8)
    for number in (0, 1, 2, 3, 4, 5):
        crowd.asked(f"address{number}")
    for number in (1, 0, 2, 3):
        crowd.let_in(f"address{number}", "address")
    for number in (3, 2):
        crowd.answered(f"address{number}")

    gone = [entered(crowd, f"n{number}", f"n{number}") for number in range(7)]

    assert gone == [f"address{number}" for number in (4, 5, 6, 7, 3, 2, 1)]


def test_who_was_answered_but_never_let_in_goes_before_who_is_idle() -> None:
    crowd = ConnectionRegistry[str](3)
    filled(crowd, "address", 3)
    for number in range(3):
        crowd.asked(f"address{number}")
    crowd.let_in("address0", "address")
    for number in range(3):
        crowd.answered(f"address{number}")

    assert [entered(crowd, f"n{number}", f"n{number}") for number in range(2)] == ["address1", "address2"]


def test_a_newcomer_of_the_largest_group_replaces_one_of_its_own_but_none_at_work() -> None:
    crowd = ConnectionRegistry[str](3)
    filled(crowd, "a", 3)
    crowd.asked("a0")
    crowd.let_in("a0", "a")

    assert [entered(crowd, "a3", "a"), entered(crowd, "a4", "a")] == ["a1", "a2"]
    for name in ("a3", "a4"):
        crowd.asked(name)
        crowd.let_in(name, "a")
    assert entered(crowd, "a5", "a") == "refused"


def test_whoever_was_let_in_is_no_longer_counted_with_its_address() -> None:
    crowd = ConnectionRegistry[str](4)
    filled(crowd, "address", 4)
    crowd.asked("address0")
    crowd.let_in("address0", "ann")
    crowd.answered("address0")

    assert [entered(crowd, f"new{number}", "address") for number in range(4)] == [
        "address1", "address2", "address3", "new0",
    ]  # fmt: skip


def test_nobody_takes_from_who_has_hardly_more() -> None:
    crowd = ConnectionRegistry[str](3)
    for party in "abc":
        filled(crowd, party, 1)

    assert entered(crowd, "d0", "d") == "refused"


def test_whoever_has_left_is_not_noted_any_more() -> None:
    crowd = ConnectionRegistry[str](2)
    filled(crowd, "a", 1)
    crowd.leave("a0")
    crowd.leave("a0")
    crowd.asked("a0")
    crowd.answered("a0")
    crowd.let_in("a0", "a")

    assert len(crowd) == 0
    assert filled(crowd, "b", 2)


Move = tuple[str, str, int]


@pytest.mark.night
@pytest.mark.flood
@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("come", "come", "come", "asked", "let in", "answered", "leave")),
            st.sampled_from("wxyz"),
            st.integers(0, 30),
        ),
        max_size=120,
    ),
    st.integers(1, 8),
)
def test_the_limit_holds_and_only_who_has_no_fewer_than_most_is_refused(history: list[Move], most: int) -> None:
    crowd = ConnectionRegistry[str](most)
    inside: dict[str, str] = {}
    for number, (verb, party, which) in enumerate(history):
        known = [*inside][which % len(inside)] if inside else ""
        if verb == "come":
            held = Counter(inside.values())
            gone = entered(crowd, f"c{number}", party)
            if gone == "refused":
                assert len(inside) == most
                assert held[party] + 2 > max(held.values())
                continue
            if gone is not None:
                assert len(inside) == most
                owner = inside.pop(gone)
                assert owner == party or held[owner] >= held[party] + 2
            inside[f"c{number}"] = party
        elif verb == "asked":
            crowd.asked(known)
        elif verb == "answered":
            crowd.answered(known)
        elif verb == "let in" and known:
            crowd.let_in(known, party)
            inside[known] = party
        elif verb == "leave" and known:
            crowd.leave(known)
            del inside[known]
        assert len(crowd) == len(inside) <= most
