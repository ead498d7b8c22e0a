"""The answer's own account: what was understood, what was chosen, and why."""

from collections.abc import Sequence

from mcp_binance_server.charts.language.drawings import WantedDrawing
from mcp_binance_server.charts.language.spans import TimeSpan
from mcp_binance_server.charts.language.studies import Asked
from mcp_binance_server.charts.language.vocabulary import StudyWord
from mcp_binance_server.domain.assets import ASSET_NAMES


def market_said(symbol: str) -> str:
    """Say which market was detected, by its name where it has one."""
    exchange, _, ticker = symbol.partition(":")
    name = next(
        (name for code, name in ASSET_NAMES.items() if ticker.startswith(code) and len(ticker) - len(code) <= 6), ""
    )
    if exchange == "BINANCE" and name:
        return f"Detected {name} ({ticker})"
    return f"Detected {symbol}"


def range_said(span: TimeSpan | None, range_text: str | None) -> list[str]:
    """Say how the time was read."""
    if span is None:
        return []
    if range_text is None:
        return [f"interpreted '{span.said}' as two moments in UTC"]
    return [f"interpreted '{span.said}' as range '{range_text}'"]


def interval_said(interval: str, *, explicit: bool, has_range: bool) -> str:
    """Say where the interval comes from."""
    if explicit:
        return f"used the requested {interval} interval"
    return (
        f"selected {interval} interval for good resolution" if has_range else f"selected {interval} interval by default"
    )


def studies_said(studies: Sequence[Asked]) -> list[str]:
    """Say which studies were added."""
    if not studies:
        return []
    if all(_is_default(each) for each in studies):
        return ["added requested indicators with default parameters"]
    listed = ", ".join(_study_said(each) for each in studies)
    return [f"added {listed}"]


def drawings_said(drawings: Sequence[WantedDrawing]) -> list[str]:
    """Say which drawings were added."""
    return (
        [f"drew {len(drawings)} {'drawing' if len(drawings) == 1 else 'drawings'} at the prices given"]
        if drawings
        else []
    )


def _study_said(asked: Asked) -> str:
    numbers = ", ".join(f"{value}" for value in asked.inputs.values())
    return f"{asked.indicator.display_name} ({numbers})" if numbers else asked.indicator.display_name


def _is_default(asked: Asked) -> bool:
    usual = {each.public: each.default for each in StudyWord.of(asked.indicator).inputs}
    return not asked.override and all(usual.get(key) == value for key, value in asked.inputs.items())
