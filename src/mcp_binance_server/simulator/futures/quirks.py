"""What may be wrong with the futures host alone, beside the faults every answer can have."""

from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from mcp_binance_server.simulator import refusals

QuirkKind = Literal[
    "region",  # 451: not from here; spot knows nothing of it
    "banned",  # 418 for `ms`, told in the text alone
    "string_times",  # timestamps come as strings
    "missing_rows",  # the answer lacks the rows of `symbols`
    "behind",  # the answer is that of `ms` ago
    "empty_list",  # the list is empty
]

REGION = (
    "Service unavailable from a restricted location according to 'b. Eligibility' in https://www.binance.com/en/terms. "
    "Please contact customer service if you believe you received this message in error."
)


class Quirk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One thing that is wrong; `times` None means until cleared, `path` may hold * and ?."""

    kind: QuirkKind
    path: str = "*"
    times: int | None = None
    symbols: tuple[str, ...] = ()
    ms: int = 0


class Quirks:
    """All of those that match a request strike it."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Quirk, int | None]] = []

    def add(self, quirk: Quirk) -> None:
        """Let the quirk strike the next requests it matches."""
        self._waiting.append((quirk, quirk.times))

    def clear(self) -> None:
        """Forget every quirk."""
        self._waiting.clear()

    def pending(self) -> list[Quirk]:
        """Return the quirks that still wait."""
        return [quirk for quirk, _ in self._waiting]

    def take(self, path: str) -> list[Quirk]:
        """Return what strikes this request, and count it."""
        struck = [(quirk, left) for quirk, left in self._waiting if fnmatchcase(path, quirk.path)]
        kept = [(quirk, left) for quirk, left in self._waiting if not fnmatchcase(path, quirk.path)]
        kept += [(quirk, left if left is None else left - 1) for quirk, left in struck if left is None or left > 1]
        self._waiting = kept
        return [quirk for quirk, _ in struck]


def refuse(quirks: list[Quirk], now_ms: int) -> None:
    """Refuse the request if one of the quirks does.

    Raises:
        Refusal: the caller is banned, or in the wrong place.
    """
    for quirk in quirks:
        if quirk.kind == "region":
            raise refusals.Refusal(0, REGION, status=451)
        if quirk.kind == "banned":
            told = f"Way too many requests; IP(203.0.113.7) banned until {now_ms + quirk.ms}. "
            raise refusals.Refusal(-1003, f"{told}Please use the websocket for live updates to avoid bans.", status=418)


def spoiled(rows: list[dict[str, object]], quirks: list[Quirk]) -> list[dict[str, object]]:
    """Return the rows as the quirks leave them."""
    for quirk in quirks:
        if quirk.kind == "empty_list":
            rows = []
        elif quirk.kind == "missing_rows":
            rows = [row for row in rows if row.get("symbol") not in quirk.symbols]
        elif quirk.kind == "string_times":
            rows = [row | {"timestamp": str(row["timestamp"])} if "timestamp" in row else row for row in rows]
    return rows


def behind_ms(quirks: list[Quirk]) -> int:
    """Return how old the answer is made."""
    return max((quirk.ms for quirk in quirks if quirk.kind == "behind"), default=0)
