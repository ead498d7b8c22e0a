"""Thresholds that an operator can set: names, bounds and parser."""

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.errors import SettingsError

Simple = int | float | Decimal | tuple[float, ...]

_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
_HEADING = ("| Variable | Default | May be | Decides |", "|---|---|---|---|")


class ThresholdBounds(NamedTuple):
    """Bounds of a threshold, both inclusive, and its meaning."""

    low: float
    high: float
    meaning: str


_KNOBS: dict[str, ThresholdBounds] = {
    "profile_bins": ThresholdBounds(5, 200, "bins of a volume profile over its price range"),
    "profile_area": ThresholdBounds(0.01, 1, "share of the volume that the value area holds"),
    "profile_rows": ThresholdBounds(1, 2, "rows added to the value area in each step"),
    "vol_edges": ThresholdBounds(0, 100, "lowest annual volatility of the classes low, medium, medium-high and high"),
    "vol_min_n": ThresholdBounds(2, 89, "daily returns needed to class an asset's volatility"),
    "swing_side": ThresholdBounds(1, 50, "bars on each side that a swing must exceed"),
    "cluster_atr": ThresholdBounds(0.01, 10, "distance in ATR within which levels are merged"),
    "level_atr": ThresholdBounds(
        0, 10, "distance in ATR from which a level is support or resistance, not the price itself"
    ),
    "bias_t": ThresholdBounds(0, 100, "t statistic of a week's hourly returns at which a direction is named"),
    "momentum_sigmas": ThresholdBounds(
        0, 100, "day's change that counts as momentum, as a multiple of a usual day's change"
    ),
    "sentiment_sigmas": ThresholdBounds(
        0, 100, "day's change for a word of sentiment, as a multiple of a usual day's change"
    ),
    "hhi_edges": ThresholdBounds(0, 1, "HHI at which a portfolio counts as moderate, and as concentrated"),
    "var_level": ThresholdBounds(50, 99, "level of VaR and ES in per cent"),
    "var_min_n": ThresholdBounds(20, 89, "daily returns needed for VaR and ES"),
    "corr_min_n": ThresholdBounds(3, 89, "daily returns needed for a correlation"),
    "risk_max_assets": ThresholdBounds(1, 50, "largest holdings whose history is read"),
    "heavy_share": ThresholdBounds(0, 1, "share of volatile assets at which a portfolio is called heavily weighted"),
    "moderate_share": ThresholdBounds(
        0, 1, "share of volatile assets at which a portfolio is called moderately weighted"
    ),
    "stablecoin_floor": ThresholdBounds(0, 0.95, "lowest share of stablecoins without advice to add more"),
    "effective_assets_floor": ThresholdBounds(1, 100, "lowest number of effective assets without advice to diversify"),
    "position_ceiling": ThresholdBounds(
        0, 1, "share of one asset at which stops are advised; also the maximum share of a position"
    ),
    "market_shock": ThresholdBounds(-1, 0, "what-if: move of every asset that is not stable"),
    "btc_shock": ThresholdBounds(-1, 0, "what-if: move of bitcoin; other assets follow by their beta"),
    "stale_ms": ThresholdBounds(
        100, 60_000, "age at which a live book is stale, so that the book is requested instead"
    ),
    "min_events": ThresholdBounds(
        2, 4_000, "events needed for OFI, for the word and range of an order flow, and for a baseline"
    ),
    "min_seconds": ThresholdBounds(4, 3_600, "seconds with trades needed for the range of an order flow"),
    "resamples": ThresholdBounds(100, 5_000, "resamples of the bootstrap"),
    "large_trade_percentile": ThresholdBounds(
        1, 100, "percentile of earlier trades, by value, that a large trade reaches"
    ),
    "large_trade_min_n": ThresholdBounds(1, 1_000, "earlier trades needed to call a trade large"),
    "vpin_buckets": ThresholdBounds(
        1, 1_000, "volume buckets of VPIN; each is a mean day's volume divided by this number"
    ),
    "vacuum_fraction": ThresholdBounds(0, 1, "share of the median bin below which a bin is thin"),
    "vacuum_min_trades": ThresholdBounds(1, 1_000_000, "trades needed to look for thin ranges"),
    "vacuum_min_bars": ThresholdBounds(1, 1_440, "bars needed to look for thin ranges"),
    "dead_ms": ThresholdBounds(1_000, 300_000, "age at which a live book is no longer shown"),
    "depletion_drop": ThresholdBounds(0.01, 1, "share of the depth whose loss counts as a depletion"),
    "depletion_ms": ThresholdBounds(1_000, 60_000, "time within which the depth is lost"),
    "recovery_share": ThresholdBounds(0.01, 1, "share of the depth that counts as recovered"),
    "recovery_ms": ThresholdBounds(1_000, 300_000, "time within which the depth returns"),
}
TUNABLE: Mapping[str, ThresholdBounds] = MappingProxyType(_KNOBS)

# Pairs (a, b) of thresholds with a <= b.
ORDERED = (
    ("moderate_share", "heavy_share"),
    ("stale_ms", "dead_ms"),
)


class ChangedThreshold(NamedTuple):
    """A threshold that an operator has changed, with its default."""

    name: str
    value: str
    default: str


def tuned(given: Mapping[str, str], *, prefix: str) -> Thresholds:
    """Return the thresholds after applying the environment variables with this prefix.

    Raises:
        SettingsError: a name or a value is wrong. The message quotes variable names, never values.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for variable, text in sorted(given.items()):
        name = variable.removeprefix(prefix).lower()
        if name not in TUNABLE or variable != prefix + name.upper():
            problems.append(f"{variable}: unknown threshold{_meant(name, prefix)}")
            continue
        try:
            values[name] = _read(text, getattr(DEFAULTS, name), TUNABLE[name])
        except ValueError as error:
            problems.append(f"{variable}: {error}")
    thresholds = DEFAULTS if problems else replace(DEFAULTS, **values)
    problems += _contradictions(thresholds, prefix)
    if problems:
        raise SettingsError(problems=tuple(problems))
    return thresholds


def changes(thresholds: Thresholds) -> tuple[ChangedThreshold, ...]:
    """Return the changed thresholds in the order of the table."""
    pairs = ((name, getattr(thresholds, name), getattr(DEFAULTS, name)) for name in TUNABLE)
    return tuple(ChangedThreshold(name, _written(now), _written(usual)) for name, now, usual in pairs if now != usual)


def threshold_table(prefix: str) -> str:
    """Return the table of all variables for the documentation."""
    rows = (
        f"| `{prefix}{name.upper()}` | `{_written(default)}` | {_allowed(default, knob)} | {knob.meaning} |"
        for name, knob in TUNABLE.items()
        for default in (getattr(DEFAULTS, name),)
    )
    return "\n".join((*_HEADING, *rows))


def plain_number(value: float | Decimal) -> str:
    """Format a number without trailing zeros: `4`, `3.5`, `50000`."""
    return f"{Decimal(str(value)).normalize():f}"


def _read(text: str, default: Simple, knob: ThresholdBounds) -> Simple:
    problem = f"must be {_allowed(default, knob)}"
    if not isinstance(default, tuple):
        return type(default)(_number(text, knob, problem, is_whole=isinstance(default, int)))
    edges = tuple(float(_number(each, knob, problem)) for each in text.split(","))
    if len(edges) != len(default) or any(low >= high for low, high in pairwise(edges)):
        raise ValueError(problem)
    return edges


def _number(text: str, knob: ThresholdBounds, problem: str, *, is_whole: bool = False) -> Decimal:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise ValueError(problem)
    value = Decimal(text)
    if not Decimal(str(knob.low)) <= value <= Decimal(str(knob.high)) or (is_whole and value % 1):
        raise ValueError(problem)
    return value


def _allowed(default: Simple, knob: ThresholdBounds) -> str:
    span = f"from {plain_number(knob.low)} to {plain_number(knob.high)}"
    if isinstance(default, tuple):
        return f"{len(default)} rising numbers {span}, separated by commas"
    return f"{'a whole number' if isinstance(default, int) else 'a number'} {span}"


def _written(value: Simple) -> str:
    return ",".join(map(plain_number, value)) if isinstance(value, tuple) else plain_number(value)


def _meant(name: str, prefix: str) -> str:
    # Imported late: only a typo needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(name, TUNABLE, 1)
    return f"; did you mean {prefix}{close[0].upper()}?" if close else ""


def _contradictions(thresholds: Thresholds, prefix: str) -> list[str]:
    return [
        f"{prefix}{low.upper()}: must not be more than {prefix}{high.upper()}"
        for low, high in ORDERED
        if getattr(thresholds, low) > getattr(thresholds, high)
    ]
