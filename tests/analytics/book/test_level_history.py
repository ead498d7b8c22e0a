"""Level histories: what the changes of a book and the tape tell of one price, and where they tell nothing."""

import pytest

from analytics.stories import Story, eaten
from mcp_binance_server.analytics.book import level_history
from mcp_binance_server.analytics.book.behaviour import LevelState


def states(story: Story, from_ms: int = 0) -> tuple[LevelState, ...]:
    (history,) = story.window(from_ms).histories
    return history.states


def test_a_trade_shows_in_the_first_change_after_it() -> None:
    story = Story().bid(0, "99", "3").sold(100, "99", "1").bid(100, "99", "2.5").bid(200, "99", "2")

    assert states(story) == ((0, 3.0, 0.0), (100, 2.5, 0.0), (200, 1.5, 1.0), (200, 2.0, 0.0))


def test_more_traded_than_went_is_a_fall_and_a_rise() -> None:
    story = Story().bid(0, "99", "3").sold(50, "99", "2").bid(100, "99", "3")

    assert states(story) == ((0, 3.0, 0.0), (100, 1.0, 2.0), (100, 3.0, 0.0))


def test_what_stood_before_the_window_is_remembered_and_else_is_at_least_what_was_taken() -> None:
    seen = Story().bid(0, "99", "9").sold(950, "99", "2").bid(1_000, "99", "7")
    unseen = Story().sold(950, "99", "2").bid(1_000, "99", "7")

    assert states(seen, from_ms=900)[0].displayed == 9.0
    assert states(unseen, from_ms=900) == ((0, 9.0, 0.0), (1_000, 7.0, 2.0))


def test_a_price_holds_while_nothing_trades_beyond_it() -> None:
    held = Story().bid(0, "99", "3").sold(10, "99", "1").bid(100, "99", "2").sold(200, "99.5", "1")
    broken = Story().bid(0, "99", "3").sold(10, "99", "1").bid(100, "99", "2").sold(200, "98.99", "1")

    assert held.window().histories[0].held
    assert not broken.window().histories[0].held


def test_both_sides_of_one_price_are_told_apart() -> None:
    story = Story().bid(0, "99", "3").sold(10, "99", "1").bid(100, "99", "0").ask(200, "99", "5")
    story.bought(250, "99", "2").ask(300, "99", "3")

    sides = {each.side: [state.displayed for state in each.states] for each in story.window().histories}

    assert sides == {"bid": [3.0, 0.0], "ask": [5.0 + 0.0, 3.0]}


def test_size_that_comes_and_goes_is_followed_with_what_traded_meanwhile() -> None:
    story = Story().bid(0, "99", "1").bid(1_000, "99", "21").sold(1_500, "99", "0.5").bought(1_600, "100", "2")
    story.bid(2_000, "99", "1")

    (passing,) = story.window(least=5).passing

    assert (passing.added, passing.life_ms, passing.traded, passing.opposite_traded) == (20.0, 1_000, 0.5, 2.0)


@pytest.mark.parametrize(
    "story",
    [
        Story().bid(1_000, "99", "21").bid(2_000, "99", "0"),
        Story().bid(0, "99", "1").bid(1_000, "99", "21").bid(4_000, "99", "1"),
        Story().bid(0, "99", "1").bid(1_000, "99", "21").bid(2_000, "99", "11"),
        Story().bid(0, "99", "1").bid(1_000, "99", "5").bid(2_000, "99", "1"),
    ],
    ids=["unknown before", "lived too long", "half stayed", "too small"],
)
def test_what_is_not_known_to_have_come_and_gone_is_not_followed(story: Story) -> None:
    assert story.window(least=5).passing == ()


def test_a_second_flash_on_a_level_that_stayed_is_seen() -> None:
    story = Story().bid(0, "99", "0").bid(100, "99", "8").bid(9_000, "99", "30").bid(9_500, "99", "8")

    (passing,) = story.window(least=5).passing

    assert (passing.added, passing.life_ms) == (22.0, 500)


def test_the_work_is_bounded_by_the_prices_with_the_highest_traded_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level_history, "MOST_PRICES", 2)
    story = Story()
    for at in range(5):
        story.bid(0, f"9{at}", "9").sold(10, f"9{at}", str(at + 1)).bid(100, f"9{at}", "1")

    window = story.window()

    assert [each.price for each in window.histories] == [94.0, 93.0]
    assert window.traded_prices == 5
    assert window.median_value == 92 * 3


def test_an_empty_window_tells_nothing() -> None:
    window = Story().window()

    assert (window.histories, window.passing, window.updates, window.median_value) == ((), (), 0, None)


def test_the_same_story_is_told_for_both_sides() -> None:
    (bid,), (ask,) = eaten(3).window().histories, eaten(3, side="ask").window().histories

    assert bid.states == ask.states
    assert (bid.held, ask.held) == (True, True)
