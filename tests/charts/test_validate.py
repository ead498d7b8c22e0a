"""The validator: each rule and each piece of advice, one by one."""

from dataclasses import replace
from typing import Any

import pytest

from charts.configs import CATALOGUE, CHART, NOW, SAMPLE
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.charts.validate import Conditions, ConfigVerdict, validate_chart
from support.requirement import requirement

LINE: dict[str, Any] = {"type": "hline", "coordinates": 7}


def judged(config: dict[str, Any], plan: str = "ULTRA", **conditions: Any) -> ConfigVerdict:  # noqa: ANN401
    wanted = replace(Conditions(PLANS[plan], NOW), **conditions)
    return validate_chart(config, catalogue=CATALOGUE, conditions=wanted)


def errors(verdict: ConfigVerdict) -> dict[str, str]:
    return {each.field: each.message for each in verdict.findings if each.severity == "error"}


def warnings(verdict: ConfigVerdict) -> list[tuple[str, str]]:
    return [(each.field, each.message.partition(":")[0]) for each in verdict.findings if each.severity == "warning"]


def studies(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def test_a_good_chart_is_valid_and_nothing_is_said() -> None:
    verdict = judged(dict(SAMPLE), "PRO")

    assert verdict.valid
    assert (verdict.findings, verdict.suggestions) == ((), ())
    assert (verdict.within_limits, verdict.usage.count, verdict.usage.resolution) == (True, 2, "1200x675")


@requirement("charts/rule-symbol", "charts/rule-interval")
def test_symbol_and_interval_are_required() -> None:
    assert set(errors(judged({}))) == {"symbol", "interval"}


@requirement("charts/rule-symbol")
@pytest.mark.parametrize("symbol", ["BTCUSDT", "BTC/USDT", "", 5])
def test_a_symbol_has_its_exchange(symbol: object) -> None:
    assert set(errors(judged({**CHART, "symbol": symbol}))) == {"symbol"}


@pytest.mark.parametrize("symbol", ["btcusdt", "BTC/USDT", "btc-usdt", "BTC USDT"])
def test_a_bare_pair_is_mended_in_one_step(symbol: str) -> None:
    assert judged({**CHART, "symbol": symbol}).suggestions == ("Write the symbol as BINANCE:BTCUSDT",)


@requirement("charts/rule-interval")
def test_an_interval_that_is_not_offered_is_refused_with_the_nearest() -> None:
    verdict = judged({**CHART, "interval": "10m"})

    assert set(errors(verdict)) == {"interval"}
    assert verdict.suggestions == ("Use interval 5m, the nearest",)


@requirement("charts/rule-theme", "charts/rule-style")
@pytest.mark.parametrize(
    ("key", "value", "suggestion"),
    [
        ("theme", "drak", "Set theme to dark"),
        ("style", "candles", "Set style to candle"),
        ("style", "heikinashi", "Set style to heikinAshi"),
        ("scale", "logarithm", "Set scale to logarithmic"),
        ("session", "extend", "Set session to extended"),
        ("timezone", "Europe/Berlim", "Set timezone to Europe/Berlin"),
        ("format", "jpge", "Set format to jpeg"),
    ],
)
def test_a_value_outside_its_list_is_refused_with_the_one_that_was_meant(key: str, value: str, suggestion: str) -> None:
    verdict = judged({**CHART, key: value})

    assert set(errors(verdict)) == {key}
    assert verdict.suggestions == (suggestion,)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"indicators": []}, "indicators"),
        ({"studies": [{"name": "RSI", "length": 7}]}, "studies[0].length"),
        ({"studies": [{"name": "RSI", "inputs": {"size": 7}}]}, "studies[0].inputs.size"),
        ({"studies": [{"name": "RSI", "override": {"Plot": 1}}]}, "studies[0].override.Plot"),
        ({"drawings": [{**LINE, "at": 7}]}, "drawings[0].at"),
        ({"drawings": [{"type": "hline", "coordinates": {"price": 7, "y": 1}}]}, "drawings[0].coordinates.y"),
        ({"override": {"grid": False}}, "override.grid"),
        ({"override": {"priceRange": {"from": 1, "to": 2, "by": 3}}}, "override.priceRange.by"),
        ({"range": {"from": "2026-11-01", "end": 1}}, "range.end"),
    ],
)
def test_unknown_keys_are_refused_at_every_level(config: dict[str, Any], field: str) -> None:
    assert set(errors(judged({**CHART, **config}))) == {field}


@requirement("charts/rule-resolution", "charts/validate_chart_config/suggestions", "ruling/35")
@pytest.mark.parametrize(
    ("plan", "size", "suggestions"),
    [
        ("BASIC", (1920, 1080), ("Reduce width to 800 and height to 600 for BASIC plan",
                                 "Upgrade to PRO plan for higher resolution")),
        ("BASIC", (801, 600), ("Reduce width to 800 for BASIC plan", "Upgrade to PRO plan for higher resolution")),
        ("PRO", (1920, 1600), ("Reduce height to 1080 for PRO plan", "Upgrade to MEGA plan for higher resolution")),
        ("MEGA", (2048, 1600), ("Reduce width to 1920 for MEGA plan", "Upgrade to ULTRA plan for higher resolution")),
        ("ULTRA", (4000, 300), ("Reduce width to 2048 for ULTRA plan",)),
    ],
)  # fmt: skip
def test_a_size_beyond_the_plan_is_an_error_and_the_cheapest_plan_that_fits_is_named(
    plan: str, size: tuple[int, int], suggestions: tuple[str, ...]
) -> None:
    verdict = judged({**CHART, "width": size[0], "height": size[1]}, plan)

    limit = PLANS[plan].max_resolution
    assert errors(verdict) == {"resolution": f"Resolution {size[0]}x{size[1]} exceeds {plan} plan limit of {limit}"}
    assert verdict.suggestions == suggestions
    assert verdict.within_limits


@pytest.mark.parametrize(("name", "plan"), PLANS.items(), ids=list(PLANS))
def test_the_largest_picture_and_the_most_studies_of_a_plan_are_within_it(name: str, plan: Any) -> None:  # noqa: ANN401
    many = [{"name": "MA", "inputs": {"length": length}} for length in range(10, 10 + plan.max_studies)]
    verdict = judged({**CHART, "width": plan.max_width, "height": plan.max_height, "studies": many}, name)

    assert verdict.valid
    assert verdict.within_limits


@pytest.mark.parametrize(("width", "height"), [(399, 600), (800, 299), (0, 0), (-5, 600)])
def test_a_size_below_the_smallest_is_an_error(width: int, height: int) -> None:
    assert not judged({**CHART, "width": width, "height": height}).valid


def test_a_size_that_is_left_out_is_one_the_plan_draws() -> None:
    assert judged(dict(CHART), "BASIC").valid
    assert judged(dict(CHART), "BASIC").usage.resolution == "800x450"
    assert judged(dict(CHART), "PRO").usage.resolution == "1200x675"


@requirement("charts/rule-studies", "charts/rule-drawings", "charts/validate_chart_config/limits")
@pytest.mark.parametrize(
    ("study_count", "drawing_count", "field"),
    [(4, 0, "studies"), (4, 2, "studies"), (0, 4, "drawings"), (2, 2, "drawings"), (1, 3, "drawings")],
)
def test_studies_and_drawings_share_a_limit_and_each_is_named_for_its_own(
    study_count: int, drawing_count: int, field: str
) -> None:
    lines = [{"type": "hline", "coordinates": price} for price in range(drawing_count)]
    averages = [{"name": "MA", "inputs": {"length": length}} for length in range(10, 10 + study_count)]

    verdict = judged({**CHART, "studies": averages, "drawings": lines}, "BASIC")

    (message,) = errors(verdict).values()
    assert list(errors(verdict)) == [field]
    assert message.startswith(f"{study_count} stud")
    assert f"{drawing_count} drawing" in message
    assert message.endswith("exceed BASIC plan limit of 3 together")
    assert (verdict.usage.studies, verdict.usage.drawings) == (study_count, drawing_count)
    assert not verdict.within_limits
    over, larger = (
        study_count + drawing_count - 3,
        "MEGA plan for 10" if study_count + drawing_count > 5 else "PRO plan for 5",
    )
    assert verdict.suggestions == (
        f"Remove {over} of the studies or drawings for BASIC plan",
        f"Upgrade to {larger} studies and drawings",
    )


def test_an_unsound_study_counts_too() -> None:
    assert judged({**CHART, "studies": [5, {}, None], "drawings": [5]}, "BASIC").usage.count == 4


@pytest.mark.parametrize(
    ("plan", "is_valid"), [("BASIC", False), ("MEGA", False), ("ULTRA", True), ("ENTERPRISE", True)]
)
def test_a_watermark_of_one_s_own_needs_a_large_plan(plan: str, is_valid: bool) -> None:  # noqa: FBT001
    verdict = judged({**CHART, "width": 800, "height": 600, "watermark": "me"}, plan)

    assert verdict.valid is is_valid
    assert ("watermark" in errors(verdict)) is not is_valid


def test_a_drawing_without_its_points_is_an_error() -> None:
    assert errors(judged({**CHART, "drawings": [{"type": "trendline"}]})) == {
        "drawings[0].coordinates": "Trend Line needs start.time, start.price, end.time, end.price"
    }


@requirement("charts/validate_chart_config/warnings")
@pytest.mark.parametrize(
    ("change", "warning", "suggestion"),
    [
        ({"range": "1D", "interval": "4h"}, ("range", "few_bars"), "Use interval 30m or a longer range"),
        ({"range": "1Y", "interval": "1h"}, ("range", "too_many_bars"), "Use interval 12h or a shorter range"),
        ({"range": {"from": "2026-11-14T21:59:00Z"}, "interval": "1m"}, ("range", "few_bars"), "Use a longer range"),
        ({"range": "ALL"}, ("range", "interval_assumed"), None),
        ({"range": {"from": "2026-11-10", "to": "2026-11-01"}}, ("range", "range_reversed"), None),
        ({"studies": studies("RSI", "rsi")}, ("studies", "duplicate_study"),
         "Keep one Relative Strength Index, or change its inputs"),
        ({"studies": studies("RSI"), "height": 390}, ("height", "low_chart"), "Use a height of 400 or more"),
        ({"studies": studies("RSI", "MACD", "ATR", "OBV")}, ("studies", "many_panes"),
         "Split the studies over two charts"),
        ({"symbol": "BINACE:BTCUSDT"}, ("symbol", "symbol_unverified"), "Did you mean BINANCE:BTCUSDT?"),
        ({"drawings": [{"type": "long", "coordinates": {"entry": 70, "target": 68, "stop": 72}}]},
         ("drawings[0]", "drawing_inconsistent"), None),
        ({"drawings": [{"type": "short", "coordinates": {"entry": 70, "target": 72, "stop": 68}}]},
         ("drawings[0]", "drawing_inconsistent"), None),
    ],
)  # fmt: skip
def test_what_works_but_could_be_better_gets_a_warning(
    change: dict[str, Any], warning: tuple[str, str], suggestion: str | None
) -> None:
    verdict = judged({**CHART, **change})

    assert verdict.valid
    assert warnings(verdict) == [warning]
    assert verdict.suggestions == (() if suggestion is None else (suggestion,))


@pytest.mark.parametrize(
    "change",
    [
        {"studies": [{"name": "MA", "inputs": {"length": 50}}, {"name": "MA", "inputs": {"length": 200}}]},
        {"studies": studies("RSI", "MACD", "ATR", "BB", "EMA")},
        {"studies": [{"name": "RSI", "forceOverlay": True}], "height": 390},
        {"studies": studies("BB"), "height": 390},
        {"range": {"from": "2026-10-04", "to": "2026-11-14T16:00:00Z"}, "interval": "1h"},
        {"drawings": [{"type": "long", "coordinates": {"entry": 70, "target": 72, "stop": 68}}]},
        {"symbol": "KRX:005930"},
    ],
)
def test_what_is_fine_gets_none(change: dict[str, Any]) -> None:
    assert judged({**CHART, **change}).findings == ()


def test_a_pair_is_doubted_only_by_a_list_that_is_at_hand() -> None:
    known = {"BTCUSDT"}.__contains__
    lost: dict[str, Any] = {**CHART, "symbol": "BINANCE:BTCUSTD"}

    assert warnings(judged(lost, is_listed=known)) == [("symbol", "symbol_unverified")]
    assert judged(lost).findings == ()
    assert judged(dict(CHART), is_listed=known).findings == ()
    assert judged({**CHART, "symbol": "NASDAQ:AAPL"}, is_listed=known).findings == ()


def test_errors_come_before_warnings() -> None:
    verdict = judged({**CHART, "range": "ALL", "theme": "blue"})

    assert [each.severity for each in verdict.findings] == ["error", "warning"]


def test_without_a_key_what_only_the_service_refuses_is_a_warning() -> None:
    config = {
        **CHART,
        "studies": [{"name": "Keltner Channels", "inputs": {"mult": 1.5}}],
        "width": 1920,
        "height": 1080,
    }

    here, there = judged(config, "BASIC", drawn_here=True, asked=False), judged(config, "BASIC", asked=False)

    assert here.valid
    assert [each.field for each in here.findings] == ["studies[0].inputs.mult"]
    assert here.suggestions[0].startswith("No change needed")
    assert set(errors(there)) == {"studies[0].inputs.mult", "resolution"}
    assert there.suggestions[-1] == "Render locally: no plan limits apply"


def test_what_exceeds_a_plan_that_nobody_knows_is_a_warning() -> None:
    config = {**CHART, "width": 1200, "height": 675, "drawings": [LINE] * 4}

    verdict = judged(config, "BASIC", asked=False, binds=False)

    assert verdict.valid
    assert warnings(verdict) == [("resolution", "plan_unknown"), ("drawings", "plan_unknown")]
    assert verdict.suggestions[0] == "Render locally: no plan limits apply"
    assert "CHART_IMG_PLAN" in verdict.suggestions[1]
    assert judged(dict(CHART), "BASIC", asked=False, binds=False).usage.resolution == "1200x675"
    assert set(errors(judged({**config, "width": 4000}, "BASIC", asked=False, binds=False))) == {"resolution"}


def test_without_a_key_there_is_still_a_largest_picture() -> None:
    verdict = judged({**CHART, "width": 4000}, "BASIC", drawn_here=True, asked=False)

    assert errors(verdict) == {"resolution": "Resolution 4000x675 exceeds the largest picture, 2048x1920"}


def test_a_plan_that_was_asked_about_binds_even_without_a_key() -> None:
    assert set(errors(judged({**CHART, "width": 1920, "height": 1080}, "BASIC", drawn_here=True))) == {"resolution"}


@pytest.mark.parametrize("symbol", ["NASDAQ:AAPL", "BINANCE:BTCUSDT.P", "BINANCE:BTCUSDT/BINANCE:ETHUSDT"])
def test_without_a_key_only_spot_pairs_of_binance_are_drawn(symbol: str) -> None:
    verdict = judged({**CHART, "symbol": symbol}, drawn_here=True, asked=False)

    assert warnings(verdict) == [("symbol", "needs_key")]
