"""Single values, checked against what the catalogue says of them."""

import re
from typing import Final

from mcp_binance_server.charts.catalogue import Rule, Scalar
from mcp_binance_server.charts.config import LARGEST_NUMBER, Findings, shown
from mcp_binance_server.charts.dialect.instants import read_instant, write_instant

LONGEST_TEXT: Final = 500
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HEX: Final = re.compile(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
_RGB: Final = re.compile(
    r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*(0|1|0?\.\d{1,6}|1\.0{1,6})\s*)?\)"
)


def read_value(value: object, rule: Rule, where: str, findings: Findings) -> Scalar | None:
    """Return the value as the service wants it, or None after saying what is wrong."""
    match rule.type:
        case "Integer":
            return _in_bounds(_whole(value, where, findings), rule, where, findings)
        case "Float":
            return _in_bounds(read_number(value, where, findings), rule, where, findings)
        case "Boolean":
            return value if isinstance(value, bool) else _refuse(value, "true or false", where, findings)
        case "Color":
            return read_colour(value, where, findings)
        case "DateTime":
            moment = read_instant(value, where, findings)
            return None if moment is None else write_instant(moment)
        case _:
            return _text(value, rule, where, findings)


def read_number(value: object, where: str, findings: Findings) -> int | float | None:
    """Return a number; text and booleans are none, and neither are infinity and what is not a number."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER:
        return value
    return _refuse(value, "a number", where, findings)


def read_colour(value: object, where: str, findings: Findings) -> str | None:
    """Return a colour as `rgb()` or `rgba()`, the only form the service takes; `#rrggbb` is understood too."""
    text = value.strip() if isinstance(value, str) else ""
    if found := _HEX.fullmatch(text):
        digits = found[1] if len(found[1]) > 3 else "".join(2 * digit for digit in found[1])
        parts = [int(digits[place : place + 2], 16) for place in range(0, len(digits), 2)]
        return _colour(parts[:3], f"{parts[3] / 255:.3g}" if len(parts) == 4 else None)
    if (found := _RGB.fullmatch(text.lower())) and all(int(part) <= 255 for part in found.groups()[:3]):
        return _colour([int(part) for part in found.groups()[:3]], found[4])
    return _refuse(value, "a colour such as rgb(33,150,243), rgba(33,150,243,0.5) or #2196f3", where, findings)


def _colour(parts: list[int], alpha: str | None) -> str:
    inner = ",".join(map(str, parts))
    return f"rgb({inner})" if alpha is None else f"rgba({inner},{float(alpha):g})"


def _whole(value: object, where: str, findings: Findings) -> int | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER:
        if isinstance(value, int):
            return value
        if value.is_integer():
            return int(value)
    return _refuse(value, "a whole number", where, findings)


def _in_bounds(value: int | float | None, rule: Rule, where: str, findings: Findings) -> int | float | None:
    if value is None:
        return None
    if rule.options and value not in rule.options:
        return _refuse(value, f"one of {', '.join(map(str, rule.options))}", where, findings)
    if rule.min is not None and value < rule.min:
        return _refuse(value, f"{rule.min} or more", where, findings)
    if rule.max is not None and value > rule.max:
        return _refuse(value, f"{rule.max} or less", where, findings)
    return value


def _text(value: object, rule: Rule, where: str, findings: Findings) -> str | None:
    # Half of a surrogate pair is no character: it can be neither sent nor drawn.
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or _SURROGATE.search(value):
        return _refuse(value, f"text of at most {LONGEST_TEXT} characters", where, findings)
    if not rule.options or value in rule.options:
        return value
    known = [str(option) for option in rule.options]
    likely = findings.guess(value, known)
    listed = ", ".join(known) if len(known) <= 25 else f"one of {len(known)} names such as {', '.join(known[:3])}"
    findings.error(where, f"{where} {shown(value)} is not known; it must be {listed}", _use(where, likely))
    return None


def _use(where: str, likely: str | None) -> str | None:
    return f"Set {where} to {likely}" if likely else None


def _refuse(value: object, wanted: str, where: str, findings: Findings) -> None:
    findings.error(where, f"{where} must be {wanted}, not {shown(value)}")
