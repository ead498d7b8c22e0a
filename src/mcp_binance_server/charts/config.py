"""A chart's JSON configuration: its keys in both dialects, and the problems found in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeGuard

from mcp_binance_server.charts.errors import InvalidChartConfig
from mcp_binance_server.errors import echo

Severity = Literal["error", "warning"]

# Keys of a body in order. At this level both dialects have the same keys.
CHART_KEYS: Final = (
    "symbol", "interval", "range", "width", "height", "style", "theme", "scale", "session", "timezone", "format",
    "override", "studies", "drawings", "compare", "myOrders", "shiftLeft", "shiftRight", "watermark", "watermarkSize",
    "watermarkOpacity",
)  # fmt: skip
MY_ORDERS: Final = "myOrders"
STUDY_KEYS: Final = ("name", "inputs", "input", "override", "forceOverlay")
DRAWING_KEYS: Final = ("type", "coordinates", "style", "name", "input", "override", "zOrder")

DEFAULT_SIZE: Final = (1200, 675)
# Twice the limit of the largest plan. The rest of a longer list is ignored.
MOST_ITEMS: Final = 100
LARGEST_NUMBER: Final = 10**15
# Fuzzy matching takes time. After this many mistakes a suggestion no longer helps.
MOST_GUESSES: Final = 20

# Common keys of other programs. They are too different for fuzzy matching.
_MEANT: Final = {
    "indicators": "studies",
    "indicator": "studies",
    "resolution": "width and height",
    "size": "width and height",
    "timeframe": "interval",
    "period": "range",
    "ticker": "symbol",
    "pair": "symbol",
    "exchange": "symbol, as EXCHANGE:SYMBOL",
    "chartType": "style",
    "type": "style",
    "lines": "drawings",
    "settings": "inputs",
    "params": "inputs",
    "parameters": "inputs",
}


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Return whether a JSON value is an object."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether a JSON value is a list."""
    return isinstance(value, list | tuple)


def shown(value: object) -> str:
    """Format a caller's value for quoting in a message."""
    if is_object(value):
        return "an object"
    if is_list(value):
        return "a list"
    if isinstance(value, int) and not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        return "a number of that size"  # Python cannot print integers with thousands of digits
    text = echo(value if isinstance(value, str) else str(value))
    return f"'{text[:60]}'" if isinstance(value, str) else text[:60]


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem or remark about a configuration.

    `advice` is a suggested fix. `remote_only` marks a problem for chart-img.com only: the local renderer can draw the
    chart.
    """

    field: str
    message: str
    severity: Severity = "error"
    advice: str | None = None
    remote_only: bool = False


@dataclass(slots=True)
class Findings:
    """Collector of findings. Reading continues after an error, so that one answer reports all errors."""

    items: list[Finding] = field(default_factory=list[Finding])
    _guesses: int = field(default=0, init=False)

    def error(self, where: str, message: str, advice: str | None = None, *, remote_only: bool = False) -> None:
        self.items.append(Finding(where, message, "error", advice, remote_only))

    def warning(self, where: str, message: str, advice: str | None = None) -> None:
        self.items.append(Finding(where, message, "warning", advice))

    def unknown_keys(self, given: Mapping[str, object], known: Sequence[str], where: str = "") -> None:
        """Report unknown keys as errors. The service ignores them and would draw a different chart without notice."""
        for key in given:
            if key not in known:
                likely = self._meant(key, known)
                hint = f": did you mean `{likely}`?" if likely else f"; known keys: {', '.join(known[:20])}"
                self.error(f"{where}{echo(key)[:60]}", f"Unknown key `{echo(key)[:60]}`{hint}")

    def guess(self, word: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
        """Return the known word most similar to a misspelled one, or None below a similarity of `likeness`."""
        # Imported late: only a mistake needs it.
        from difflib import get_close_matches  # noqa: PLC0415

        self._guesses += 1
        if self._guesses > MOST_GUESSES:
            return None
        by_folded = {each.casefold(): each for each in known}
        found = get_close_matches(word[:60].casefold(), by_folded, 1, likeness)
        return by_folded[found[0]] if found else None

    def listed(self, value: object, where: str) -> Sequence[object]:
        """Return a list, cut to `MOST_ITEMS`. Null means an empty list."""
        if not is_list(value):
            if value is not None:
                self.error(where, f"{where} must be a list, not {shown(value)}")
            return ()
        if len(value) > MOST_ITEMS:
            self.error(where, f"{where} has {len(value)} entries; no plan draws more than {MOST_ITEMS // 2}")
        return value[:MOST_ITEMS]

    def _meant(self, key: str, known: Sequence[str]) -> str | None:
        meant = _MEANT.get(key)
        if meant and meant.split()[0].rstrip(",") in known:
            return meant
        # `upColor` means `candleStyle.upColor`.
        return next((each for each in known if each.endswith(f".{key}")), None) or self.guess(key, known)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.items if each.severity == "error")

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(each.message for each in self.items if each.severity == "warning")

    def raise_errors(self) -> None:
        """Raise an exception with all errors, if there are any.

        Raises:
            InvalidChartConfig: there are errors; it has one entry for each.
        """
        if found := self.errors:
            details = [{"field": each.field, "message": each.message} for each in found[:MOST_ITEMS]]
            if len(found) > MOST_ITEMS:
                details.append({"field": "config", "message": f"{len(found) - MOST_ITEMS} more were found"})
            raise InvalidChartConfig(details=tuple(details))
