"""Flow: volumes by aggressor, the trades that stand out among them, and events of the quotes."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.samples import candle, levels, price, quantity, trade
from mcp_binance_server.analytics.flow.book_events import QuoteState, multi_level_imbalance, order_flow_imbalance
from mcp_binance_server.analytics.flow.volume import (
    SecondFlow,
    cvd_path,
    flow_of_candles,
    flow_of_trades,
    large_trades,
    seconds_of_candles,
    seconds_of_trades,
)
from mcp_binance_server.domain.market import BookSnapshot, Trade


@st.composite
def prints(draw: st.DrawFn) -> Trade:
    paid, size = Decimal(draw(st.integers(1, 10**6))) / 100, Decimal(draw(st.integers(1, 10**6))) / 1000
    return trade(paid, size, sold=draw(st.booleans()), at_ms=draw(st.integers(0, 60_000)))


@st.composite
def quotes(draw: st.DrawFn) -> QuoteState:
    bid, spread, below, above = (draw(st.integers(1, most)) for most in (20, 5, 1000, 1000))
    return QuoteState(90.0 + bid, float(below), 90.0 + bid + spread, float(above))


tapes = st.lists(prints(), min_size=1, max_size=60).map(lambda rows: sorted(rows, key=lambda each: each.time_ms))
states = st.lists(quotes(), min_size=2, max_size=40)


def mirrored(state: QuoteState) -> QuoteState:
    return QuoteState(-state.ask, state.ask_quantity, -state.bid, state.bid_quantity)


@pytest.mark.night
@given(states)
def test_swapping_the_sides_negates_order_flow_imbalance(seen: list[QuoteState]) -> None:
    there = order_flow_imbalance(seen, minimum=1)
    back = order_flow_imbalance([mirrored(each) for each in seen], minimum=1)

    assert there.value is not None
    assert back.value == pytest.approx(-there.value)


def test_too_few_events_are_no_imbalance_and_one_state_is_no_event() -> None:
    one = QuoteState.of(*levels([(100, 1), (101, 2)]))

    assert order_flow_imbalance([one] * 30).why_null == "insufficient_events"
    assert order_flow_imbalance([one] * 31).value == 0
    assert order_flow_imbalance([one]).why_null == "no_events"


def test_the_levels_compared_are_those_every_book_has() -> None:
    deep = BookSnapshot(1, tuple(levels([(99, 1), (98, 1)])), tuple(levels([(101, 1), (102, 1)])))
    shallow = BookSnapshot(2, deep.bids[:1], deep.asks)

    assert len(multi_level_imbalance([deep, shallow], 5).levels) == 1
    assert multi_level_imbalance([deep], 5).why_null == "no_events"
    assert multi_level_imbalance([], 5).n == 0


def test_books_without_size_have_nothing_to_relate_to() -> None:
    empty = BookSnapshot(1, tuple(levels([(99, 0)])), tuple(levels([(101, 0)])))

    got = multi_level_imbalance([empty, empty], 1)

    assert (got.total, got.normalised, got.why_null) == (0, None, "degenerate")


@pytest.mark.night
@given(tapes)
def test_the_sides_add_up_and_the_path_ends_at_the_delta(tape: list[Trade]) -> None:
    flow = flow_of_trades(tape)

    assert flow.buy + flow.sell == pytest.approx(sum(float(each.quantity) for each in tape))
    assert flow.cvd == pytest.approx(cvd_path(tape)[-1], abs=1e-6)
    assert flow.buy_ratio is not None
    assert flow.imbalance == pytest.approx(2 * flow.buy_ratio - 1, abs=1e-9)
    assert flow.vwap is not None
    prices = [float(each.price) for each in tape]
    assert min(prices) * (1 - 1e-9) <= flow.vwap <= max(prices) * (1 + 1e-9)


@given(tapes)
def test_seconds_lose_nothing(tape: list[Trade]) -> None:
    flow, seconds = flow_of_trades(tape), seconds_of_trades(tape)

    assert sum(each.buy for each in seconds) == pytest.approx(flow.buy)
    assert sum(each.sell for each in seconds) == pytest.approx(flow.sell)
    assert sum(each.trades for each in seconds) == len(tape)
    assert [each.second for each in seconds] == sorted({each.time_ms // 1000 for each in tape})


def test_candles_of_a_second_are_as_exact_as_trades() -> None:
    bars = [candle(100, 101, 99, 100, 4, at=0, span_ms=1000), candle(100, 101, 99, 100, 0, at=1, span_ms=1000)]

    flow = flow_of_candles(bars)

    assert (flow.buy, flow.sell, flow.cvd, flow.vwap, flow.n) == (2, 2, 0, 100, 2)
    assert (flow.cvd_quote, flow.n_buy, flow.method) == (None, None, "klines_taker_volume")
    assert seconds_of_candles(bars) == [SecondFlow(0, 2, 2, 1)]
    assert flow_of_candles([]).why_null == "no_trades"


def test_large_is_large_for_the_trades_before_and_says_how_many_are_due_by_chance() -> None:
    before = [trade(100, 1 + at, sold=bool(at % 2), at_ms=at) for at in range(200)]
    tape = [trade(100, 5)] * 98 + [trade(100, 1000), trade(100, 600, sold=True)]

    found = large_trades(tape, before)

    assert (found.buys, found.sells, found.signed_quote) == (1, 1, 40_000)
    assert (found.threshold_quote, found.reference_n, found.of_window) == (19_800, 200, False)
    assert found.expected == pytest.approx(100 * 3 / 200)


def test_too_few_trades_before_are_replaced_by_the_window_itself_which_is_said() -> None:
    tape = [trade(1000, size) for size in range(100, 300)]

    found = large_trades(tape, tape[:199])

    assert (found.threshold_quote, found.buys, found.of_window, found.expected) == (297_000, 3, True, None)
    assert large_trades(tape[:199], tape[:199]).why_null == "insufficient_events"


def test_the_state_of_a_quote_is_its_two_best_levels() -> None:
    bid, ask = levels([("0.1", 2), ("0.2", 3)])

    assert QuoteState.of(bid, ask) == QuoteState(0.1, 2, 0.2, 3)
    assert (bid.price, bid.quantity) == (price("0.1"), quantity(2))
