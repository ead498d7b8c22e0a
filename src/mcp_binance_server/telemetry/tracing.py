"""Spans for a collector: the MCP library makes one a request, and here they are sent, where somebody asked for it."""

from importlib.util import find_spec

import anyio
from anyio import to_thread

from mcp_binance_server import __version__
from mcp_binance_server.errors import SettingsError

SETTING = "MCP_BINANCE_OTLP_URL"
NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
SEND_SECS = 5.0
FLUSH_SECS = 0.5


def start_tracing(url: str) -> None:
    """Send the spans of this process from now on to a collector, as OTLP over HTTP.

    Raises:
        SettingsError: the packages that send them are missing.
    """
    _require_exporter()
    # Nobody pays for the import who has no collector.
    from opentelemetry import trace  # noqa: PLC0415
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    named = Resource.create({"service.name": "mcp-binance-server", "service.version": __version__})
    provider = TracerProvider(resource=named, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces", timeout=SEND_SECS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)


async def flush_spans(url: str | None) -> None:
    """Send what is left, but do not wait long: a collector that is away must not hold up the end of the process."""
    if url is None:
        return
    from opentelemetry import trace  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415

    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        with anyio.move_on_after(FLUSH_SECS, shield=True):
            await to_thread.run_sync(provider.shutdown, abandon_on_cancel=True)


def _require_exporter() -> None:
    if not all(_is_installed(name) for name in NEEDED):
        missing = f"{SETTING}: the exporter is missing: pip install 'mcp-binance-server[otel]'"
        raise SettingsError(problems=(missing,))


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
