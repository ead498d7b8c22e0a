"""Parser of table cells: types, defaults, limits and options of keys, and the limits of plans."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from mcp_binance_server.charts.chartimg.docs_markup import Block, Table

Scalar = bool | int | float | str

LONGEST_LABEL = 120
_TYPES = ("Integer", "Float", "Boolean", "String", "Color", "DateTime", "Object[]", "Object")
_MIN = re.compile(r"Min: ?(-?[0-9]+(?:\.[0-9]+)?)")
_MAX = re.compile(r"Max: ?(-?[0-9]+(?:\.[0-9]+)?)")
_OPTIONS = re.compile(r"\[([^\[\]]*+)\]")
_LABEL = re.compile(r"[^(\[]*+")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_COUNT = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,9})(\+?)")
_SIZE = re.compile(r"([0-9]{2,5}) ?[x\u00d7*] ?([0-9]{2,5})")
# Misspelled keys on the page, with their correct names.
_TYPOS = {"interavl": "interval"}
# Words in a column name and the limit that they mean. The first match wins, so longer words come first.
_PLAN_COLUMNS = (
    ("custom watermark", "custom_watermark"),
    ("watermark", "forced_watermark"),
    ("expire", "storage_days"),
    ("storage", "storage_days"),
    ("studies", "max_studies"),
    ("drawings", "max_studies"),
    ("parameter", "max_studies"),
    ("indicator", "max_studies"),
    ("resolution", "max_resolution"),
    ("width", "max_width"),
    ("height", "max_height"),
    ("burst", "burst"),
    ("sec", "requests_per_second"),
    ("rate", "requests_per_second"),
    ("daily", "daily_max"),
    ("day", "daily_max"),
)


class ParsedRule(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a table of keys."""

    type: str
    label: str = ""
    default: Scalar | None = None
    min: int | float | None = None
    max: int | float | None = None
    options: tuple[Scalar, ...] = ()
    required: bool = False


class ParsedPlan(msgspec.Struct, frozen=True):
    """The limits of one plan on the page. Limits that the page omits are missing."""

    limits: Mapping[str, int]
    open_ended: bool


def rules_of(table: Table) -> dict[str, ParsedRule]:
    """Parse a table with the columns parameter, type, required, default and description."""
    found: dict[str, ParsedRule] = {}
    for row in table.rows:
        cells = dict(zip(table.header, row, strict=False))
        key = cells.get("parameter") or cells.get("name") or ""
        if key:
            found[_TYPOS.get(key, key)] = _rule(cells)
    return found


def plan_rows(blocks: Iterable[Block]) -> dict[str, ParsedPlan]:
    """Return the plans of all tables with a column "plan". Rows with the same plan name are merged."""
    plans: dict[str, ParsedPlan] = {}
    for table in blocks:
        if not isinstance(table, Table) or "plan" not in table.header:
            continue
        for row in table.rows:
            cells = dict(zip(table.header, row, strict=False))
            name = cells.pop("plan", "").upper()
            if name:
                before = plans.get(name, ParsedPlan({}, open_ended=False))
                plans[name] = _joined(before, cells)
    return plans


def _rule(cells: Mapping[str, str]) -> ParsedRule:
    kind = _type(cells.get("type", ""))
    described = cells.get("description", "")
    options = _OPTIONS.search(described)
    listed = [each.strip() for each in options[1].split(",")] if options else []
    label = (_LABEL.match(described) or [""])[0].strip()[:LONGEST_LABEL]
    return ParsedRule(
        type=kind,
        label="" if label in {"-", "■"} else label,
        default=_value(cells.get("default", ""), kind),
        min=_limit(_MIN, described),
        max=_limit(_MAX, described),
        options=tuple(value for each in listed if (value := _value(each, kind)) is not None),
        required=cells.get("required", "").lower() in {"yes", "true"},
    )


def _type(text: str) -> str:
    # "Color2196F3" is a colour with its sample attached. "DateTime (ISO8601)" is a time.
    parts = [next((each for each in _TYPES if part.strip().startswith(each)), "") for part in text.split("/")]
    return "|".join(filter(None, parts)) or "String"


def _value(text: str, kind: str) -> Scalar | None:
    if text in {"", "-"}:
        return None
    if kind == "Boolean":
        return text.lower() == "true"
    if kind in {"Integer", "Float"} and _NUMBER.fullmatch(text):
        return _number(text)
    return text.strip("{}")


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _limit(pattern: re.Pattern[str], text: str) -> int | float | None:
    found = pattern.search(text)
    return _number(found[1]) if found and _NUMBER.fullmatch(found[1]) else None


def _joined(before: ParsedPlan, cells: Mapping[str, str]) -> ParsedPlan:
    limits = dict(before.limits)
    open_ended = before.open_ended
    for column, text in cells.items():
        name = next((name for word, name in _PLAN_COLUMNS if word in column), None)
        if name is None:
            continue
        if name.endswith("watermark"):
            limits[name] = int(text.lower() in {"yes", "true", "✔"})
        elif name == "max_resolution":
            if size := _SIZE.search(text):
                limits["max_width"], limits["max_height"] = int(size[1]), int(size[2])
        elif count := _COUNT.search(text):
            limits[name] = int(count[1].replace(",", ""))
            open_ended = open_ended or bool(count[2])
    return ParsedPlan(limits, open_ended)
