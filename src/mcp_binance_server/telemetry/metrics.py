"""Metrics in Prometheus text format. This module is imported only if the metrics endpoint is enabled."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
PREFIX = "mcp_binance_"
# Seconds, from a cached read to the slowest chart.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


@dataclass(frozen=True, slots=True)
class Gauges:
    """Values that are measured at each scrape."""

    upstream_weight_used: Mapping[str, float]
    """By weight budget. The next field has the same keys, and counts since the start."""
    upstream_weight_local_total: Mapping[str, float]
    upstream_hosts_down: int
    sessions: int
    streams: int
    streamed_symbols: int
    reads_asked: int
    reads_sent: int
    stream_events_refused: int
    feed_restarts: int
    liquidations_seen: int
    board_age_seconds: Mapping[str, float]
    """By market, for boards that have been requested."""
    board_reads: Mapping[str, float]
    board_fetches: Mapping[str, float]
    scan_series: Mapping[str, float]
    """By outcome."""
    scan_waiting: int
    rows_dropped: int
    orders: Mapping[str, float]
    """By state, if trading is on."""
    orders_total: Mapping[str, float]
    """By outcome. This field and the next two count since the start."""
    orders_denied_total: Mapping[str, float]
    """By guard."""
    confirmations_total: Mapping[str, float]
    """By answer."""
    orders_unresolved: float
    trading_stopped: float
    tasks: int

    @classmethod
    def zeros(cls) -> "Gauges":
        """Return gauges of zero, for a list of all metrics."""
        figures: dict[str, Any] = {item.name: {"spot": 0} if item.name in LABELS else 0 for item in fields(cls)}
        return cls(**figures)


DESCRIPTIONS = {
    "upstream_weight_used": "Weight or requests used at Binance in this minute by this outgoing IP; NaN while unknown",
    "upstream_weight_local_total": "Weight spent from the local budget since the start, while the shared state was "
    "unavailable",
    "upstream_hosts_down": "Binance hosts that fail and are retried once a second; 0 is normal",
    "sessions": "Live sessions",
    "streams": "Open market-stream connections to Binance",
    "streamed_symbols": "Symbols with a live order book",
    "reads_asked": "Shared market reads requested since the start",
    "reads_sent": "Shared market reads sent to Binance since the start; the others are cache hits",
    "stream_events_refused": "Invalid market-stream events dropped since the start",
    "feed_restarts": "Restarts of a symbol's feed after a failure since the start",
    "liquidations_seen": "Futures liquidations received since the start; the exchange publishes only a sample",
    "board_age_seconds": "Age of the board, the table of all pairs; absent before the first request",
    "board_reads": "Boards requested since the start",
    "board_fetches": "Boards fetched from Binance by this process since the start",
    "scan_series": "Candle series that screens needed since the start, by outcome",
    "scan_waiting": "Market screens that are still reading candles",
    "rows_dropped": "Invalid rows dropped from Binance's lists since the start",
    "orders": "Orders in the journal of this machine, by state; absent if trading is off",
    "orders_total": "Orders sent or held back by this process since the start, by the outcome first reported",
    "orders_denied_total": "Previews and orders refused since the start, by guard",
    "confirmations_total": "Questions to users since the start, by answer; impossible means not shown",
    "orders_unresolved": "Orders of this machine without a known outcome; NaN if the journal cannot be read",
    "trading_stopped": "1 while trading of any account is stopped, paper included; NaN if the journal cannot be read",
    "tasks": "Tasks of the event loop",
}
LABELS = {
    "upstream_weight_used": ("ledger",),
    "upstream_weight_local_total": ("ledger",),
    "board_age_seconds": ("market",),
    "board_reads": ("market",),
    "board_fetches": ("market",),
    "scan_series": ("outcome",),
    "orders": ("state",),
    "orders_total": ("outcome",),
    "orders_denied_total": ("guard",),
    "confirmations_total": ("answer",),
}
TOTAL = "_total"


class Totals(Collector):
    """Collector of counters that are stored elsewhere.

    The library's Counter cannot be used, because it also reserves the name of the orders gauge.
    """

    moment: Gauges | None = None

    def collect(self) -> Iterator[CounterMetricFamily]:
        for name, labels in LABELS.items():
            if name.endswith(TOTAL):
                family = CounterMetricFamily(f"{PREFIX}{name}", DESCRIPTIONS[name], labels=labels)
                for label, value in getattr(self.moment, name, {}).items():
                    family.add_metric([label], value)
                yield family


class Metrics:
    """Metrics with their own registry, so that two servers in one process have separate counts."""

    def __init__(self) -> None:
        disable_created_metrics()  # otherwise each metric has a second, unused series
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)  # memory, descriptors and CPU under their standard names
        self._requests = Counter(
            f"{PREFIX}requests", "MCP requests by method and outcome", ["method", "outcome"], registry=self._registry
        )
        self._seconds = Histogram(
            f"{PREFIX}request_seconds",
            "Seconds from an MCP request to its answer",
            ["method"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._answers = Counter(
            f"{PREFIX}http_answers", "HTTP answers by route and status", ["route", "status"], registry=self._registry
        )
        self._gauges = {
            item.name: Gauge(
                f"{PREFIX}{item.name}", DESCRIPTIONS[item.name], LABELS.get(item.name, ()), registry=self._registry
            )
            for item in fields(Gauges)
            if not item.name.endswith(TOTAL)
        }
        self._totals = Totals()
        self._registry.register(self._totals)

        # Cache the series, because the library looks up labels under a lock. There are few series, and none is removed.
        self._requests_of = cache(self._requests.labels)
        self._seconds_of = cache(self._seconds.labels)
        self._answers_of = cache(self._answers.labels)

    def request(self, method: str, outcome: str, seconds: float | None) -> None:
        """Count a request. `seconds` is None if the duration depends on the client."""
        self._requests_of(method, outcome).inc()
        if seconds is not None:
            self._seconds_of(method).observe(seconds)

    def answer(self, route: str, status: int) -> None:
        self._answers_of(route, status).inc()

    def text(self, moment: Gauges) -> bytes:
        """Return all metrics in Prometheus text format."""
        self._totals.moment = moment
        for name, gauge in self._gauges.items():
            figure = getattr(moment, name)
            if name in LABELS:
                for label, value in figure.items():
                    gauge.labels(label).set(value)
            else:
                gauge.set(figure)
        return generate_latest(self._registry)
