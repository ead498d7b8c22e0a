"""Logging without secrets, and tracing to an OpenTelemetry collector."""

import json
import logging
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.util import find_spec

import anyio
from anyio import to_thread

from mcp_binance_server import __version__
from mcp_binance_server.errors import SettingsError

HIDDEN = "[hidden]"
SHORTEST_SECRET = 8
# A signature is no key, but it authorises one request until its receive window ends.
_SIGNATURE = re.compile(r"(signature=)[^&\s\"']+")

# httpx2 logs complete signed URLs at INFO. The other loggers are only noisy.
QUIET_LOGGERS = ("httpx2", "httpcore", "httpcore2", "websockets", "uvicorn.access", "grpc")
LONGEST_LINE = 2_000
LONGEST_CAUSE, MOST_CAUSES = 300, 8

SETTING = "MCP_BINANCE_OTLP_URL"
NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
SEND_SECS = 5.0
FLUSH_SECS = 0.5


class Redactor:
    """Redactor of this process's secrets. Its repr shows none of them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        parts = {part for secret in secrets for part in secret.split() if len(part) >= SHORTEST_SECRET}
        self._known = re.compile("|".join(map(re.escape, sorted(parts, key=len, reverse=True)))) if parts else None

    def redact(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        return _SIGNATURE.sub(rf"\g<1>{HIDDEN}", text)

    def __repr__(self) -> str:
        return "Redactor()"


class LineFormatter(logging.Formatter):
    """Formatter with one line per record.

    Control characters are replaced, because they could forge another line.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        record.message, record.asctime = record.getMessage(), self.formatTime(record)
        line = self._line(self.formatMessage(record))
        line = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
        if not record.exc_info or record.exc_info[1] is None:
            return line
        # Put the causes first. Keep the end of a long traceback, because its beginning is only the entry point. Redact
        # before cutting, because half of a secret would not be found.
        causes = " < ".join(self._line(each)[:LONGEST_CAUSE] for each in causes_of(record.exc_info[1]))
        way = self._line(self.formatException(record.exc_info))
        return f"{line} [{causes}] {way if len(way) <= LONGEST_LINE else f'…{way[-LONGEST_LINE:]}'}"

    def _line(self, text: str) -> str:
        return "".join(each if each.isprintable() else " " for each in self._redactor.redact(text))


def causes_of(error: BaseException) -> list[str]:
    """Return an exception and its causes as Python prints them. A group is replaced by its members."""
    told: list[str] = []
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting and len(told) < MOST_CAUSES:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if inside := _inside(each):
            waiting = [*inside, *waiting]
        else:
            told.append(f"{type(each).__name__}: {each}")
        before = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
        if before is not None:
            waiting.append(before)
    return told


def _inside(error: BaseException) -> tuple[BaseException, ...]:
    return tuple(error.exceptions) if isinstance(error, BaseExceptionGroup) else ()  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType, reportUnknownVariableType] - exceptions of any kind


class JsonFormatter(logging.Formatter):
    """Formatter with one ASCII JSON object per line, for log collectors. Secrets are redacted."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        # Redact before encoding: a secret with JSON escapes would not be found.
        message = self._redactor.redact(record.getMessage())
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": message if len(message) <= LONGEST_LINE else f"{message[:LONGEST_LINE]}…",
        }
        if record.exc_info:
            # Keep the end, which has the error. The beginning is only the entry point.
            told["exception"] = self._redactor.redact(self.formatException(record.exc_info))[-LONGEST_LINE:]
        return json.dumps(told)


def configure_logging(level: str, secrets: Iterable[str], *, as_json: bool = False) -> None:
    """Send all logs of the process to standard error through one redacting handler."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter((JsonFormatter if as_json else LineFormatter)(Redactor(secrets)))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def start_tracing(url: str) -> None:
    """Start to export this process's spans to a collector, as OTLP over HTTP.

    Raises:
        SettingsError: the exporter's packages are missing.
    """
    _require_exporter()
    # Imported late: only users with a collector pay for the import.
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
    """Export the remaining spans within `FLUSH_SECS`.

    The limit keeps an unreachable collector from delaying the exit.
    """
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
