"""Reference page of all metrics, generated from the Prometheus registry."""

from prometheus_client.parser import text_string_to_metric_families

from mcp_binance_server.telemetry.metrics import BUCKETS, Gauges, Metrics
from reference_pages.markdown import code, page, table

BEGINNING = """`GET /metrics` of the [HTTP server](../hosting.md#metrics), in Prometheus's text format. It requires a
token like `/mcp`. No label has a value chosen by a caller."""
LABELS = f"""`method` is the MCP method, `outcome` is `ok`, `tool_error`, `cancelled` or the error's code, `route` the
address served, `status` the HTTP status. Anything unknown is counted as `other`. For orders, `outcome` is `placed`,
`rejected`, `not_sent` or `unknown`, `guard` the limit or check without its asset or symbol, `answer` `yes`, `no`,
`unanswered` or `impossible`. `ledger` is `spot`, `futures`,
`futures_data` and `funding` (requests), `scan` or `futures_scan`.

The histogram's buckets end at {", ".join(f"{edge:g}" for edge in BUCKETS)} seconds."""


def metrics_page() -> str:
    counted = Metrics()
    counted.request("tools/call", "ok", 0.1)
    counted.answer("/mcp", 200)
    text = counted.text(Gauges.zeros()).decode()
    rows: list[tuple[str, str, str, str]] = []
    for family in text_string_to_metric_families(text):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = sorted({label for sample in family.samples for label in sample.labels} - {"le"})
        rows.append((code(name), family.type, ", ".join(map(code, labels)), family.documentation))
    return page("Metrics", BEGINNING, table(("Metric", "Type", "Labels", "Meaning"), rows), LABELS)
