"""How many bars a chart is computed from: those shown, and what its studies want before the first of them."""

from mcp_binance_server.analytics.indicators.talipp_adapter import ONE_REQUEST
from mcp_binance_server.charts.render.spec import MOST_BARS, ChartSpec
from mcp_binance_server.charts.studies.study import RECURSIVE
from mcp_binance_server.charts.studies.table import STUDIES, settle

HEIKIN_ASHI = 50
MOST = MOST_BARS
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600}
_DAY_SECONDS = 86_400
_DAYS_OF_A_MONTH = 31
_MOST_OF_A_DAY = 1440  # bars of a minute; a day in seconds is out of reach


def bars_to_load(spec: ChartSpec) -> int:
    """Return the bars to load: a study that never forgets gets the whole window, as everywhere else."""
    before = [HEIKIN_ASHI if spec.style == "heikinAshi" else 0]
    anchored, least = 0, 0
    for asked in spec.studies:
        if study := STUDIES.get(asked.name):
            wanted = study.warm_up(settle(study, asked.inputs).inputs)
            before.append(wanted)
            if wanted >= RECURSIVE or study.running:
                least = ONE_REQUEST
            if study.anchored:
                anchored = min(_bars_of_a_period(spec.interval), _MOST_OF_A_DAY)
    return max(least, spec.bars + max(min(max(before), MOST), anchored))


def _bars_of_a_period(interval: str) -> int:
    count, unit = interval[:-1], interval[-1:]
    if unit not in _UNIT_SECONDS or not count.isdigit() or not int(count):
        return _DAYS_OF_A_MONTH if unit in "dD" else 5 if unit in "wW" else 1
    return -(-_DAY_SECONDS // (int(count) * _UNIT_SECONDS[unit]))
