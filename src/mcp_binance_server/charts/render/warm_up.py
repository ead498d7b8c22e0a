"""How many bars the studies of a chart want before the first one shown."""

from mcp_binance_server.charts.render.spec import MOST_BARS, ChartSpec
from mcp_binance_server.charts.studies.table import STUDIES, settle

HEIKIN_ASHI = 50
MOST = MOST_BARS
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600}
_DAY_SECONDS = 86_400


def warm_up_bars(spec: ChartSpec) -> int:
    """Return the bars to load besides those shown, a thousand at most."""
    wanted = [HEIKIN_ASHI if spec.style == "heikinAshi" else 0]
    for asked in spec.studies:
        if study := STUDIES.get(asked.name):
            wanted.append(study.warm_up(settle(study, asked.inputs).inputs))
            if study.by_day:
                wanted.append(_bars_of_a_day(spec.interval))
    return min(max(wanted), MOST)


def _bars_of_a_day(interval: str) -> int:
    count, unit = interval[:-1], interval[-1:]
    if unit not in _UNIT_SECONDS or not count.isdigit() or not int(count):
        return 1
    return -(-_DAY_SECONDS // (int(count) * _UNIT_SECONDS[unit]))
