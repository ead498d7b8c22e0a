"""An HTTP answer before it is sent, and the headers every answer of Binance carries."""

from dataclasses import dataclass, field
from email.utils import formatdate

import msgspec

from mcp_binance_server.simulator.refusals import Refusal

JSON_TYPE = "application/json;charset=UTF-8"
HTML_TYPE = "text/html"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict[str, str])


def json_answer(body: object, status: int = 200) -> Answer:
    """Encode a body; characters beyond ASCII go out as they are."""
    return Answer(status, msgspec.json.encode(body))


def refused(refusal: Refusal) -> Answer:
    """Turn a refusal into its answer."""
    headers = {} if refusal.retry_after_secs is None else {"Retry-After": str(refusal.retry_after_secs)}
    return Answer(refusal.status, msgspec.json.encode({"code": refusal.code, "msg": refusal.message}), headers=headers)


def page(status: int, title: str) -> Answer:
    """Return the HTML page a gateway would show."""
    return Answer(status, f"<html><body><h1>{status} {title}</h1></body></html>".encode(), HTML_TYPE)


def header_list(answer: Answer, used_weight: int, now_ms: int) -> list[tuple[bytes, bytes]]:
    """Return the headers as ASGI wants them; what the answer says itself wins."""
    headers = {
        "content-type": answer.content_type,
        "content-length": str(len(answer.body)),
        "date": formatdate(now_ms / 1000, usegmt=True),
        "x-mbx-used-weight": str(used_weight),
        "x-mbx-used-weight-1m": str(used_weight),
    } | {name.lower(): value for name, value in answer.headers.items()}
    return [(name.encode(), value.encode()) for name, value in headers.items()]
