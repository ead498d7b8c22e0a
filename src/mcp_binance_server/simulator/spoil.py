"""The ways a body goes bad between the exchange and its client."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace

from mcp_binance_server.simulator.answer import Answer, page
from mcp_binance_server.simulator.faults import Fault, Kind


def spoil(answer: Answer, fault: Fault) -> Answer:
    """Return what arrives instead of the answer."""
    change = CHANGES.get(fault.kind)
    return answer if change is None else change(answer, fault)


def _html(_answer: Answer, _fault: Fault) -> Answer:
    return page(200, "OK")


def _truncated(answer: Answer, _fault: Fault) -> Answer:
    return replace(answer, body=answer.body[: len(answer.body) // 2])


def _empty(answer: Answer, _fault: Fault) -> Answer:
    return replace(answer, body=b"")


def _content_type(answer: Answer, _fault: Fault) -> Answer:
    return replace(answer, content_type="text/plain")


def _gzip(answer: Answer, _fault: Fault) -> Answer:
    return _announced(replace(answer, body=gzip.compress(answer.body, mtime=0)))


def _false_gzip(answer: Answer, _fault: Fault) -> Answer:
    return _announced(answer)


def _huge(answer: Answer, fault: Fault) -> Answer:
    return replace(answer, body=b'"' + b"x" * (fault.size - 2) + b'"')


def _announced(answer: Answer) -> Answer:
    return replace(answer, headers=answer.headers | {"content-encoding": "gzip"})


CHANGES: Mapping[Kind, Callable[[Answer, Fault], Answer]] = {
    "html": _html,
    "truncated": _truncated,
    "empty": _empty,
    "content_type": _content_type,
    "gzip": _gzip,
    "false_gzip": _false_gzip,
    "huge": _huge,
}
