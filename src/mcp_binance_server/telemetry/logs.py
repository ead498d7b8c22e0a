"""Logs as JSON or text, without a secret in them."""

import json
import logging
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

HIDDEN = "[hidden]"
SHORTEST_SECRET = 8
# A signature is no key, but it is a right to one request for as long as its window is open.
_SIGNATURE = re.compile(r"(signature=)[^&\s\"']+")

# httpx2 writes whole signed addresses at INFO; the others are merely loud.
QUIET_LOGGERS = ("httpx2", "httpcore", "httpcore2", "websockets", "uvicorn.access", "grpc")
LONGEST_LINE = 2_000
LONGEST_CAUSE, MOST_CAUSES = 300, 8


class Redactor:
    """Knows the secrets of this process and cuts them out; its repr shows none."""

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
    """One line per record: control characters could otherwise forge a second one."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        record.message, record.asctime = record.getMessage(), self.formatTime(record)
        line = self._line(self.formatMessage(record))
        line = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
        if not record.exc_info or record.exc_info[1] is None:
            return line
        # What went wrong comes first; of the way there the end says most, its beginning only where we started.
        # Cut only once no secret is left: half of one would not be found.
        causes = " < ".join(self._line(each)[:LONGEST_CAUSE] for each in causes_of(record.exc_info[1]))
        way = self._line(self.formatException(record.exc_info))
        return f"{line} [{causes}] {way if len(way) <= LONGEST_LINE else f'…{way[-LONGEST_LINE:]}'}"

    def _line(self, text: str) -> str:
        return "".join(each if each.isprintable() else " " for each in self._redactor.redact(text))


def causes_of(error: BaseException) -> list[str]:
    """Say an exception and what it came from, as Python would show it; of a group, what is in it."""
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
