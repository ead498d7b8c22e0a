"""Faults that only the futures host has, in addition to the faults of all answers."""

from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from binance_simulator import refusals

QuirkKind = Literal[
    "region",  # 451 for a restricted location, on this host only
    "banned",  # a ban (418) for `ms`; only the message has the end of the ban
    "string_times",  # timestamps as strings
    "missing_rows",  # an answer without the rows of `symbols`
    "behind",  # an answer that is `ms` old
    "empty_list",  # an empty list
]

REGION = (
    "Service unavailable from a restricted location according to 'b. Eligibility' in https://www.binance.com/en/terms. "
    "Please contact customer service if you believe you received this message in error."
)


class Quirk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One quirk. `path` can contain the wildcards * and ?.

    It applies `times` times; None means until it is removed.
    """

    kind: QuirkKind
    path: str = "*"
    times: int | None = None
    symbols: tuple[str, ...] = ()
    ms: int = 0


class Quirks:
    """Pending quirks. All quirks that match a request apply to it."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Quirk, int | None]] = []

    def add(self, quirk: Quirk) -> None:
        """Add a quirk for the next matching requests."""
        self._waiting.append((quirk, quirk.times))

    def clear(self) -> None:
        """Remove all quirks."""
        self._waiting.clear()

    def pending(self) -> list[Quirk]:
        """Return the pending quirks."""
        return [quirk for quirk, _ in self._waiting]

    def take(self, path: str) -> list[Quirk]:
        """Return the quirks for this request and count their use."""
        struck = [(quirk, left) for quirk, left in self._waiting if fnmatchcase(path, quirk.path)]
        kept = [(quirk, left) for quirk, left in self._waiting if not fnmatchcase(path, quirk.path)]
        kept += [(quirk, left if left is None else left - 1) for quirk, left in struck if left is None or left > 1]
        self._waiting = kept
        return [quirk for quirk, _ in struck]


def refuse(quirks: list[Quirk], now_ms: int) -> None:
    """Raise the refusal of a quirk, if there is one.

    Raises:
        Refusal: the caller is banned, or in a restricted location.
    """
    for quirk in quirks:
        if quirk.kind == "region":
            raise refusals.Refusal(0, REGION, status=451)
        if quirk.kind == "banned":
            told = f"Way too many requests; IP(203.0.113.7) banned until {now_ms + quirk.ms}. "
            raise refusals.Refusal(-1003, f"{told}Please use the websocket for live updates to avoid bans.", status=418)


def spoiled(rows: list[dict[str, object]], quirks: list[Quirk]) -> list[dict[str, object]]:
    """Return the rows with the quirks applied."""
    for quirk in quirks:
        if quirk.kind == "empty_list":
            rows = []
        elif quirk.kind == "missing_rows":
            rows = [row for row in rows if row.get("symbol") not in quirk.symbols]
        elif quirk.kind == "string_times":
            rows = [row | {"timestamp": str(row["timestamp"])} if "timestamp" in row else row for row in rows]
    return rows


def behind_ms(quirks: list[Quirk]) -> int:
    """Return the age of the answer in ms."""
    return max((quirk.ms for quirk in quirks if quirk.kind == "behind"), default=0)
