"""Markets shown beside the chart's own, as lines in percent; only our own renderer draws them."""

from typing import Final

from mcp_binance_server.charts.config import Findings, is_list, shown
from mcp_binance_server.charts.dialect.symbol import binance_pair

MOST: Final = 4


def read_compare(value: object, findings: Findings) -> list[str] | None:
    """Read a list of spot pairs of Binance, such as BINANCE:ETHUSDT."""
    if value is None:
        return None
    if not is_list(value) or not value or len(value) > MOST:
        findings.error("compare", f"compare must be a list of one to {MOST} pairs, such as BINANCE:ETHUSDT")
        return None
    read: list[str] = []
    for place, each in enumerate(value):
        pair = binance_pair(each) if isinstance(each, str) else None
        if pair is None or pair.perpetual:
            findings.error(
                f"compare[{place}]",
                f"{shown(each)} cannot be compared: spot pairs of Binance can, as BINANCE:ETHUSDT",
            )
        else:
            read.append(f"BINANCE:{pair.symbol}")
    findings.error("compare", "compare is drawn locally only; chart-img.com shows one market", remote_only=True)
    return list(dict.fromkeys(read))
