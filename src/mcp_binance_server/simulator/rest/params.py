"""The parameters of a request, read one by one; what nobody reads is refused."""

import re
from urllib.parse import unquote_plus

import msgspec

from mcp_binance_server.simulator import refusals

LEGAL_SYMBOL = re.compile(r"(?:(?![a-z])[\w\-.]){1,50}")
WHOLE = re.compile(refusals.WHOLE_RANGE)
SIGNING = ("recvWindow", "timestamp", "signature")


class Params:
    """Names and values as sent, percent-decoded as UTF-8."""

    def __init__(self, raw: bytes) -> None:
        fields = [field.partition("=") for field in raw.decode("utf-8", "replace").split("&") if field]
        self.pairs = [(unquote_plus(name), unquote_plus(value)) for name, _, value in fields]
        self._values = dict(self.pairs)
        self._read: set[str] = set()

    def peek(self, name: str) -> str | None:
        """Look at a value without counting it as read."""
        return self._values.get(name)

    def text(self, name: str) -> str | None:
        """Read an optional value; sent but empty is refused."""
        value = self._values.get(name)
        if value is None:
            return None
        self._read.add(name)
        if not value:
            raise refusals.empty(name)
        return value

    def required(self, name: str) -> str:
        """Read a mandatory value."""
        value = self.text(name)
        if value is None:
            raise refusals.missing(name)
        return value

    def whole(self, name: str) -> int | None:
        """Read an optional whole number."""
        value = self.text(name)
        if value is None:
            return None
        if not WHOLE.fullmatch(value):
            raise refusals.illegal(name, refusals.WHOLE_RANGE)
        return int(value)

    def limit(self, usual: int, most: int) -> int:
        """Read `limit`; more than the most is cut down to it, as Binance does."""
        value = self.whole("limit")
        if value == 0:
            raise refusals.bad_value("limit")
        return usual if value is None else min(value, most)

    def flag(self, name: str, *, usual: bool) -> bool:
        """Read an optional true or false."""
        value = self.text(name)
        if value is None:
            return usual
        if value.lower() not in {"true", "false"}:
            raise refusals.illegal(name, "^(true|false)$")
        return value.lower() == "true"

    def symbol_name(self) -> str:
        """Read the mandatory `symbol`; Unicode letters and digits are legal, lower-case Latin is not."""
        return legal_symbol("symbol", self.required("symbol"))

    def symbol_names(self) -> list[str] | None:
        """Read the optional list `symbols`: a JSON array without spaces and without repetitions."""
        value = self.text("symbols")
        if value is None:
            return None
        names = _name_list(value)
        if names is None or any(not LEGAL_SYMBOL.fullmatch(name) for name in names):
            raise refusals.illegal("symbols", refusals.SYMBOLS_RANGE)
        if len(set(names)) < len(names):
            raise refusals.repeated_symbol()
        return names

    def accept(self, names: tuple[str, ...]) -> None:
        """Refuse repetitions, and anything at all where nothing is expected."""
        if len(self._values) < len(self.pairs):
            raise refusals.duplicate_parameter()
        if not names and self.pairs:
            raise refusals.too_many_parameters(0, len(self.pairs))

    def finish(self) -> None:
        """Refuse what nobody has read."""
        if len(self._read) < len(self._values):
            raise refusals.unread(len(self._read), len(self._values))

    def logged(self) -> dict[str, str]:
        """Return the values without the signature."""
        return {name: value for name, value in self.pairs if name != "signature"}


def legal_symbol(name: str, value: str) -> str:
    """Return the value if its characters are legal in a symbol."""
    if not LEGAL_SYMBOL.fullmatch(value):
        raise refusals.illegal(name, refusals.SYMBOL_RANGE)
    return value


def _name_list(value: str) -> list[str] | None:
    try:
        names = msgspec.json.decode(value, type=list[str])
    except msgspec.DecodeError:
        return None
    # Binance matches the text against a pattern without spaces; JSON alone would allow them.
    return None if " " in value else names
