"""REST answers, and refusals with Binance's codes and messages."""

from dataclasses import dataclass, field
from email.utils import formatdate

import msgspec

SYMBOL_RANGE = r"^[\w\-._&&[^a-z]]{1,50}$"
SYMBOLS_RANGE = r'^\[("[\w\-._&&[^a-z]]{1,50}"(,"[\w\-._&&[^a-z]]{1,50}"){0,}){0,1}\]$'
WHOLE_RANGE = r"^[0-9]{1,20}$"
DECIMAL_RANGE = r"^([0-9]{1,20})(\.[0-9]{1,20})?$"

JSON_TYPE = "application/json;charset=UTF-8"
HTML_TYPE = "text/html"


class Refusal(Exception):
    """A refusal with a code and a message."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        status: int = 400,
        retry_after_secs: int | None = None,
        retry_at_ms: int | None = None,
        data: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.retry_after_secs = retry_after_secs
        self.retry_at_ms = retry_at_ms
        self.data = data

    def body(self) -> dict[str, object]:
        """Return the body of the answer. `data` has the results of a request's parts."""
        told: dict[str, object] = {"code": self.code, "msg": self.message}
        return told if self.data is None else told | {"data": self.data}


def illegal(name: str, legal_range: str) -> Refusal:
    return Refusal(-1100, f"Illegal characters found in parameter '{name}'; legal range is '{legal_range}'.")


def too_many_parameters(expected: int, received: int) -> Refusal:
    return Refusal(-1101, f"Too many parameters; expected '{expected}' and received '{received}'.")


def duplicate_parameter() -> Refusal:
    return Refusal(-1101, "Duplicate values for a parameter detected.")


def missing(name: str) -> Refusal:
    return Refusal(-1102, f"Mandatory parameter '{name}' was not sent, was empty/null, or malformed.")


def missing_either(first: str, second: str) -> Refusal:
    return Refusal(-1102, f"Param '{first}' or '{second}' must be sent, but both were empty/null!")


def unread(read: int, sent: int) -> Refusal:
    return Refusal(-1104, f"Not all sent parameters were read; read '{read}' parameter(s) but was sent '{sent}'.")


def empty(name: str) -> Refusal:
    return Refusal(-1105, f"Parameter '{name}' was empty.")


def bad_interval() -> Refusal:
    return Refusal(-1120, "Invalid interval.")


def bad_symbol() -> Refusal:
    return Refusal(-1121, "Invalid symbol.")


def bad_status() -> Refusal:
    return Refusal(-1122, "Invalid symbolStatus.")


def too_many_hours() -> Refusal:
    return Refusal(-1127, "More than 24 hours between startTime and endTime.")


def bad_combination() -> Refusal:
    return Refusal(-1128, "Combination of optional parameters invalid.")


def bad_value(name: str) -> Refusal:
    return Refusal(-1130, f"Data sent for parameter '{name}' is not valid.")


def bad_window() -> Refusal:
    return Refusal(-1131, "recvWindow must be less than 60000.")


def repeated_symbol() -> Refusal:
    return Refusal(-1151, "Symbol is present multiple times in the list.")


def status_mismatch() -> Refusal:
    return Refusal(-1220, "The symbol's status does not match the requested symbolStatus.")


def late() -> Refusal:
    return Refusal(-1021, "Timestamp for this request is outside of the recvWindow.")


def early() -> Refusal:
    return Refusal(-1021, "Timestamp for this request was 1000ms ahead of the server's time.")


def bad_signature() -> Refusal:
    return Refusal(-1022, "Signature for this request is not valid.")


def bad_key_format() -> Refusal:
    return Refusal(-2014, "API-key format invalid.", status=401)


def rejected_key() -> Refusal:
    return Refusal(-2015, "Invalid API-key, IP, or permissions for action.", status=401)


def rejected_address() -> Refusal:
    # Some answers contain the caller's address. This address is reserved for documentation, RFC 5737.
    told = "Invalid API-key, IP, or permissions for action, request ip: 203.0.113.7"
    return Refusal(-2015, told, status=401)


def no_such_order() -> Refusal:
    return Refusal(-2013, "Order does not exist.")


def no_reference_price() -> Refusal:
    return Refusal(-2043, "This symbol doesn't have a reference price.")


def wrong_client_id() -> Refusal:
    return Refusal(-2039, "Client order ID is not correct for this order ID.")


def too_much_weight(limit: int, until_ms: int, retry_after_secs: int) -> Refusal:
    return Refusal(
        -1003,
        f"Too much request weight used; current limit is {limit} request weight per 1 MINUTE. "
        "Please use WebSocket Streams for live updates to avoid polling the API.",
        status=429,
        retry_after_secs=retry_after_secs,
        retry_at_ms=until_ms,
    )


def banned(until_ms: int, retry_after_secs: int) -> Refusal:
    return Refusal(
        -1003,
        f"Way too much request weight used; IP banned until {until_ms}. "
        "Please use WebSocket Streams for live updates to avoid bans.",
        status=418,
        retry_after_secs=retry_after_secs,
        retry_at_ms=until_ms,
    )


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict[str, str])


def json_answer(body: object, status: int = 200) -> Answer:
    """Encode a body as JSON without escaping non-ASCII characters."""
    return Answer(status, msgspec.json.encode(body))


def refused(refusal: Refusal) -> Answer:
    """Return the answer for a refusal."""
    headers = {} if refusal.retry_after_secs is None else {"Retry-After": str(refusal.retry_after_secs)}
    return Answer(refusal.status, msgspec.json.encode(refusal.body()), headers=headers)


def unknown_path(method: str, path: str) -> Answer:
    """Return the answer for a path that does not exist, or not with this method."""
    return json_answer({"code": -5000, "msg": f"Path {path}, Method {method} is invalid"}, 404)


def page(status: int, title: str) -> Answer:
    """Return an HTML page like that of a proxy or gateway."""
    return Answer(status, f"<html><body><h1>{status} {title}</h1></body></html>".encode(), HTML_TYPE)


def header_list(answer: Answer, used_weight: int, now_ms: int) -> list[tuple[bytes, bytes]]:
    """Return the headers in ASGI format. The answer's own headers override the defaults."""
    headers = {
        "content-type": answer.content_type,
        "content-length": str(len(answer.body)),
        "date": formatdate(now_ms / 1000, usegmt=True),
        "x-mbx-used-weight": str(used_weight),
        "x-mbx-used-weight-1m": str(used_weight),
    } | {name.lower(): value for name, value in answer.headers.items()}
    return [(name.encode(), value.encode()) for name, value in headers.items()]
