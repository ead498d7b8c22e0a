"""What the doctor finds on one rung of the ladder."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_binance_server.cli.doctor.bench import Bench

Status = Literal["ok", "warning", "problem", "skipped", "off"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What was seen; for anything but good news also why that is likely, how to fix it, and one command or page.

    `off` means that nothing is wrong: what the rung is about is not in use. Without a word about it, it is not shown.
    """

    status: Status
    seen: str = ""
    why: str = ""
    fix: str = ""
    command: str = ""
    needs: str = ""
    is_alarm: bool = False


@dataclass(frozen=True, slots=True)
class Rung:
    """One check; it is tried only when those it needs have not failed, and is off when one of them is."""

    id: str
    title: str
    check: "Callable[[Bench], Awaitable[CheckResult]]"
    needs: tuple[str, ...] = ()


def good(seen: str) -> CheckResult:
    return CheckResult("ok", seen)


def off(seen: str = "") -> CheckResult:
    return CheckResult("off", seen)
