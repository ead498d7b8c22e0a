"""The microprice: symmetric data has one, anything else is refused."""

from mcp_binance_server.analytics.book.metrics import price_adjustment

EVEN = [[0.3, 0.2], [0.2, 0.3]]


def test_an_even_book_needs_no_adjustment() -> None:
    got = price_adjustment([[0.5]], [[0.25, 0.25]], [-0.5, 0.5], [[0.5]])

    assert (got.first, got.total, got.why_null) == ((0,), (0,), None)


def test_data_that_is_not_symmetric_has_no_sum() -> None:
    rising = price_adjustment([[0.5]], [[0.1, 0.4]], [-0.5, 0.5], [[0.5]])

    assert (rising.total, rising.why_null) == ((), "not_fitted")


def test_a_state_that_is_never_left_cannot_be_fitted() -> None:
    stuck = price_adjustment([[1.0, 0.0], [0.0, 0.5]], EVEN, [-0.5, 0.5], EVEN)

    assert (stuck.first, stuck.why_null) == ((), "not_fitted")


def test_rows_are_exchanged_where_the_first_has_no_pivot() -> None:
    swapped = price_adjustment([[1.0, -0.5], [-0.5, 1.0]], EVEN, [-0.5, 0.5], [[0.1, 0.0], [0.0, 0.1]])

    assert swapped.why_null is None
    assert swapped.total[0] == -swapped.total[1]
