"""What a reader sees of thin traded ranges and of a stop beside them; the simulated market never jumps over a price."""

from dataclasses import replace
from decimal import Decimal

import pytest

from mcp_binance_server.analytics.liquidity.report import LiquidityReport, StandingReport, StopReport, ThinRangeReport
from mcp_binance_server.analytics.liquidity.stops import Noise, StopSide, stop_price
from mcp_binance_server.analytics.liquidity.thin_ranges import ThinRange, ThinRanges
from mcp_binance_server.analytics.metric import WhyNull, Window
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.price_reading import PriceReading
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.tools.liquidity import thin_range_metrics
from mcp_binance_server.surface.views.liquidity import liquidity_page, thin_line

RULES = SymbolRules(
    Symbol("BTCUSDT"),
    "BTC",
    "USDT",
    "TRADING",
    Price(Decimal("0.01")),
    Quantity(Decimal("0.00001")),
    Quantity(Decimal(5)),
)
NOISE = Noise(day=0.02, bars=288, bar_ms=300_000)
HALF_HOUR_MS = 1_800_000


def price(text: str) -> Price:
    return Price(Decimal(text))


FAR = ThinRange(price("60500.00"), price("60620.00"), 0.71, 12_000.0, 0.0, 0.0)
NEAR = ThinRange(price("58700.00"), price("58850.00"), 0.88, None, 0.0123, 0.0312)
FOUND = ThinRanges(found=(NEAR, FAR), widest=0.88, shuffles=59, bins=50, n=2_000)


def report(found: ThinRanges, *, at: str = "60000.00", side: StopSide = "long") -> ThinRangeReport:
    now = price(at)
    stop = stop_price(now, NOISE, tick=RULES.tick, thin=found.found or (), side=side)
    return ThinRangeReport(
        rules=RULES,
        found=found,
        low_volume=None,
        window=Window(0, HALF_HOUR_MS),
        requested_ms=HALF_HOUR_MS,
        coverage=1.0,
        trades=2_000,
        source="aggTrades",
        reading=PriceReading(now, HALF_HOUR_MS, now, HALF_HOUR_MS, is_mid=False),
        stop=StopReport(stop=stop, noise=NOISE),
        standing=StandingReport(),
        now_ms=HALF_HOUR_MS,
    )


def page(thin: ThinRangeReport) -> str:
    return liquidity_page(
        LiquidityReport(
            rules=RULES,
            reading=thin.reading,
            thin=thin,
            standing=StandingReport(),
            largest={},
            reach=None,
            costs=None,
            stop=thin.stop,
            lookback_minutes=30,
            now_ms=HALF_HOUR_MS,
            no_book="the book is empty",
        )
    )


def test_ranges_are_shown_nearest_first_with_their_width_and_what_is_left_in_them() -> None:
    text = page(report(FOUND))

    assert (
        "| Range | Width (sigma) | Width (spreads) | Volume left | Distance |\n"
        "|-|-|-|-|-|\n"
        "| $60,500.00-$60,620.00 | 0.71 | 12,000 | none | +0.83% |\n"
        "| $58,700.00-$58,850.00 | 0.88 | n/a | 0.01230 BTC, 3% of usual | -1.92% |\n"
    ) in text
    assert "_Wider than in each of 59 shuffles of the same price steps; sigma: the window's usual move_" in text


def test_a_stop_beside_one_is_moved_beyond_it_and_says_so() -> None:
    text = page(report(FOUND))

    assert (
        "- Stop for a holder: $58,580.00 (2.37% below; noise alone reaches it in 24 h in about 23% of cases; "
        "moved beyond the thin traded range that ends at $58,700.00)\n"
        "_Usual move in 24 h: 2.00% (Garman-Klass, 288 bars of 5 min); "
        "chance: normal steps without drift_"
    ) in text


def test_a_price_inside_one_is_said_on_the_page_and_in_the_line() -> None:
    inside = report(FOUND, at="60600.00")

    assert "**Current Price**: $60,600.00 (inside a thin traded range)" in page(inside)
    assert thin_line(inside) == "BTCUSDT, last 30 min: 2 thin traded ranges; the price is inside one."
    assert thin_line(report(replace(FOUND, found=(FAR,)))) == (
        "BTCUSDT, last 30 min: 1 thin traded range; nearest $60,500.00-$60,620.00."
    )


def test_where_the_last_trade_is_history_distances_are_of_the_mid_and_the_line_says_so() -> None:
    mid, last = price("60000.005"), price("59000.00")
    thin = replace(report(FOUND), reading=PriceReading(mid, HALF_HOUR_MS, last, HALF_HOUR_MS - 125_000, is_mid=True))

    told = "Last trade $59,000.00 at 00:27:55, 2 min ago; mid now $60,000.005"
    assert f"**Current Price**: {told}\n" in page(thin)
    assert "| $60,500.00-$60,620.00 | 0.71 | 12,000 | none | +0.83% |" in page(thin)
    assert thin_line(thin).endswith(" Measured from mid $60,000.005 (last trade $59,000.00, 2 min ago).")
    metrics = thin_range_metrics(thin, None)
    assert (metrics["price"].value, metrics["price"].method) == ("60000.005", "mid")
    assert metrics["last_trade"].value == {"price": "59000.00", "at": "1970-01-01T00:27:55.000Z"}


def test_a_tool_tells_the_same_and_how_rare_it_is() -> None:
    metrics = thin_range_metrics(report(FOUND), None)

    assert metrics["thin_ranges"].p == pytest.approx(1 / 60)
    assert metrics["thin_ranges"].value == [
        {
            "low": "60500.00", "high": "60620.00", "width_sigmas": 0.71, "width_spreads": 12_000.0, "volume": "0",
            "of_median": 0.0, "distance_pct": 0.833,
        },
        {
            "low": "58700.00", "high": "58850.00", "width_sigmas": 0.88, "width_spreads": None, "volume": "0.0123",
            "of_median": 0.0312, "distance_pct": -1.917,
        },
    ]  # fmt: skip
    assert metrics["widest_run"].value == {"sigmas": 0.88, "shuffles": 59, "as_wide": 0}
    assert metrics["inside_thin_range"].value is False


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (ThinRanges(found=(), widest=0.0, bins=50, n=900), "no range with hardly any trading between traded prices"),
        (
            ThinRanges(found=(), widest=0.11, bins=50, n=900),
            "the widest range with hardly any trading is 0.11 sigma of the window, below the minimum "
            "(0.15 sigma, 3 ticks and 2 spreads)",
        ),
        (
            ThinRanges(found=(), widest=0.42, shuffles=3, as_wide=1, bins=50, n=900),
            "the widest range with hardly any trading is 0.42 sigma of the window; 1 of 3 shuffles of the same "
            "price steps have one as wide",
        ),
    ],
)
def test_where_none_is_beyond_chance_the_page_says_what_chance_made(found: ThinRanges, words: str) -> None:
    assert f"_None beyond chance: {words}_" in page(report(found))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (ThinRanges(found=None, n=120, why_null="insufficient_events"), "too few trades: 120 of 300 needed"),
        (ThinRanges(found=None, n=120, why_null="insufficient_bars"), "too few bars: 120 of 240 needed"),
        (ThinRanges(found=None, n=400, why_null="degenerate"), "all values are equal"),
    ],
)
def test_what_cannot_be_judged_is_called_so(found: ThinRanges, words: str) -> None:
    thin = report(found)

    assert f"_Not judged: {words}" in page(thin)
    assert thin_line(thin).startswith(f"BTCUSDT, last 30 min: thin traded ranges not judged ({words}")


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ("no_trades", "there is no current price"),
        ("insufficient_bars", "too few trades in the last 24 h to separate noise from moves"),
        ("upstream_unavailable", "the usual move of a day is unknown: the exchange did not answer"),
    ],
)
def test_without_a_stop_the_page_says_why(why: WhyNull, words: str) -> None:
    none = StopReport(stop=None, noise=None, why_null=why)
    thin = replace(report(FOUND), stop=none)

    assert f"## Stop Loss Guidance\n_Unavailable: {words}_" in page(thin)
    assert thin_range_metrics(thin, None)["stop_guidance"].why_null == why


def test_the_least_distance_and_a_standing_size_are_named_as_reasons() -> None:
    still = Noise(day=0.00001, bars=288, bar_ms=300_000)
    now = price("60000.00")
    by_tick = stop_price(now, still, tick=price("100"))
    by_spread = stop_price(now, still, tick=RULES.tick, spread=price("50"))
    by_size = stop_price(now, NOISE, tick=RULES.tick, standing=[price("58800.00")])

    texts = [
        page(replace(report(FOUND), stop=StopReport(stop=each, noise=NOISE))) for each in (by_tick, by_spread, by_size)
    ]

    assert "in about 0% of cases; 3 ticks, the minimum)" in texts[0]
    assert "in about 0% of cases; 2 spreads, the minimum)" in texts[1]
    assert "moved beyond the standing size at $58,800.00)" in texts[2]
