"""What is lent while there is some, and taken from those who hold most when there is none."""

from collections import Counter
from random import Random

import pytest

from mcp_binance_server.domain.holdings import Holdings, LentPlaces

HOG, ANN, BOB = "hog", "ann", "bob"


class Desk:
    """Places, and a list of whose were ended."""

    def __init__(self, most: int) -> None:
        self.places = LentPlaces(most)
        self.ended: list[str] = []

    def take(self, party: str, name: str | None = None) -> bool:
        return self.places.take(party, lambda: self.ended.append(name or party)) is not None


def test_places_are_lent_freely_while_there_are_some() -> None:
    desk = Desk(3)

    assert [desk.take(HOG) for _ in range(4)] == [True, True, True, False]
    assert desk.ended == []


def test_the_oldest_of_whoever_holds_most_is_given_to_one_with_two_fewer() -> None:
    desk = Desk(4)
    for name in ("1", "2", "3"):
        desk.take(HOG, name)
    desk.take(ANN)

    assert [desk.take(BOB), desk.take(BOB), desk.take(BOB)] == [True, False, False]
    assert desk.ended == ["1"]
    assert len(desk.places) == 4


def test_who_lost_a_place_cannot_take_it_back() -> None:
    desk = Desk(3)
    for _ in range(3):
        desk.take(HOG)

    assert [desk.take(ANN), desk.take(HOG)] == [True, False]


def test_nothing_is_taken_from_this_process_itself() -> None:
    desk = Desk(2)
    desk.take("")
    desk.take("")

    assert desk.take(ANN) is False


def test_a_place_is_released_once() -> None:
    places = LentPlaces(1)
    release = places.take(HOG, lambda: None)
    assert release is not None

    release()
    release()

    assert len(places) == 0
    assert places.take(HOG, lambda: None) is not None
    assert places.take(HOG, lambda: None) is None


def test_the_release_of_a_place_that_was_taken_gives_nothing_back() -> None:
    places = LentPlaces(2)
    release = places.take(HOG, lambda: None)
    places.take(HOG, lambda: None)
    assert places.take(ANN, lambda: None) is not None
    assert release is not None

    release()

    assert len(places) == 2


def test_a_thing_of_several_is_taken_only_if_all_of_them_have_too_much() -> None:
    held: Holdings[str] = Holdings()
    for name in ("btc", "eth", "sol"):
        held.hold(name, HOG)
        held.hold(name, HOG)
    held.hold("btc", ANN)

    assert held.surplus(BOB) == "eth"
    held.let_go("btc", ANN)
    assert held.surplus(BOB) == "btc"
    for name in ("btc", "eth", "sol"):
        held.hold(name, ANN)
    assert held.surplus(BOB) == "btc"
    assert held.surplus(HOG) is None


def test_what_is_let_go_as_often_as_it_was_held_is_nobodys() -> None:
    held: Holdings[str] = Holdings()
    held.hold("btc", HOG)
    held.hold("btc", HOG)

    held.let_go("btc", HOG)
    assert (held.of(HOG), len(held)) == (1, 1)
    held.let_go("btc", HOG)
    held.let_go("btc", HOG)

    assert (held.of(HOG), len(held)) == (0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_nobody_within_a_share_is_refused_and_nobody_loses_what_is_within_one(seed: int) -> None:
    random, most, parties = Random(seed), 40, [f"{number}" for number in range(13)]
    share = most // len(parties)
    places, held = LentPlaces(most), Counter[str]()

    def ask(party: str) -> None:
        def lose() -> None:
            held[party] -= 1
            assert held[party] >= share

        if places.take(party, lose) is None:
            assert held[party] >= share
        else:
            held[party] += 1

    for _ in range(2_000):
        ask(random.choice([HOG] * 20 + parties[:-1]))

    assert len(places) == held.total() == most
