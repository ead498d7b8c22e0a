"""Logging on standard error: one line a record, no secret in it, no chatter from the libraries."""

import json
import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

from mcp_binance_server.telemetry.redact import Redactor

# httpx2 writes whole signed addresses at INFO; the others are merely loud.
QUIET_LOGGERS = ("httpx2", "httpcore", "httpcore2", "websockets", "uvicorn.access", "grpc")
LONGEST_LINE = 2_000


class LineFormatter(logging.Formatter):
    """One line per record: control characters could otherwise forge a second one."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        text = self._redactor.redact(super().format(record))
        line = "".join(character if character.isprintable() else " " for character in text)
        return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


class JsonFormatter(logging.Formatter):
    """One JSON object a line, in ASCII, for hosts that collect logs; the same secrets are cut out."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        # Before it is JSON: an escaped secret would look like none.
        message = self._redactor.redact(record.getMessage())
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": message if len(message) <= LONGEST_LINE else f"{message[:LONGEST_LINE]}…",
        }
        if record.exc_info:
            # Its end says what went wrong, its beginning only where we started.
            told["exception"] = self._redactor.redact(self.formatException(record.exc_info))[-LONGEST_LINE:]
        return json.dumps(told)


def configure_logging(level: str, secrets: Iterable[str], *, as_json: bool = False) -> None:
    """Send every logger of the process to standard error through one redacting handler."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter((JsonFormatter if as_json else LineFormatter)(Redactor(secrets)))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
