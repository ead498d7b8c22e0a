"""The page about the analyses lists every threshold as it is."""

from pathlib import Path

from mcp_binance_server.analytics.tuning import threshold_table
from mcp_binance_server.settings import ANALYTICS_PREFIX

PAGE = (Path(__file__).parents[2] / "docs" / "analytics.md").read_text(encoding="utf-8")


def test_the_table_of_thresholds_is_up_to_date() -> None:
    table = threshold_table(ANALYTICS_PREFIX)

    assert f"\n{table}\n" in PAGE, f"docs/analytics.md needs this table:\n{table}"
