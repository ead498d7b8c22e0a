"""The doctor's report, as lines for a terminal or as one JSON object."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from mcp_binance_server import __version__
from mcp_binance_server.cli.doctor.bench import CheckResult, DoctorCheck, Status
from mcp_binance_server.cli.terminal import Colour, Terminal

SIGNS: Final[Mapping[Status, tuple[str, str, Colour]]] = {
    "ok": ("✓", "ok  ", "green"),
    "warning": ("!", "warn", "yellow"),
    "problem": ("✗", "FAIL", "red"),
    "skipped": ("-", "skip", "dim"),
    "off": ("-", "-   ", "dim"),
}
TITLE_WIDTH = 16
LABEL_WIDTH = 6


def heading(terminal: Terminal) -> str:
    return terminal.paint(f"mcp-binance-server {__version__}: health check", "bold") + "\n\n"


def under_way(title: str, terminal: Terminal) -> str:
    """Return the line that shows the running check. Outside a terminal it is empty."""
    return f"  {'…' if terminal.has_signs else '..'} {title}" if terminal.is_terminal else ""


def wiped(terminal: Terminal) -> str:
    """Return the sequence that erases the line of the running check."""
    return "\r\x1b[K" if terminal.is_terminal else ""


def lines(rung: DoctorCheck, finding: CheckResult, terminal: Terminal) -> str:
    """Return the lines of one check. There are none for a check that is off and has no text."""
    if not finding.seen:
        return ""
    sign, word, colour = SIGNS[finding.status]
    mark = sign if terminal.has_signs else word
    lead = f"  {mark} {rung.title:<{TITLE_WIDTH}}"
    seen = textwrap.wrap(finding.seen, terminal.width - len(lead) - 1, break_on_hyphens=False)
    tone: Colour | None = "alarm" if finding.is_alarm else colour if finding.status != "ok" else None
    shown = [terminal.paint(line, tone) if tone else line for line in seen]
    text = f"  {terminal.paint(mark, colour)} {rung.title:<{TITLE_WIDTH}}{shown[0]}\n"
    text += "".join(f"{' ' * len(lead)}{line}\n" for line in shown[1:])
    return text + _advice(finding, terminal)


def summary(found: Mapping[str, CheckResult], terminal: Terminal) -> str:
    problems, warnings = count(found, "problem"), count(found, "warning")
    skipped = count(found, "skipped")
    told = [_many(problems, "problem") if problems else "", _many(warnings, "warning") if warnings else ""]
    told.append(f"{skipped} skipped" if skipped else "")
    if not problems:
        verdict = terminal.paint("Healthy", "green") if not warnings else terminal.paint("It works", "green")
    else:
        verdict = terminal.paint("Not healthy", "red")
    details = ", ".join(each for each in told if each)
    advice = "Fix the first problem first, because it often causes the others.\n" if problems > 1 or skipped else ""
    return f"\n{verdict}{f': {details}' if details else ''}.\n{advice}"


def as_json(rungs: Sequence[DoctorCheck], found: Mapping[str, CheckResult], network: str | None) -> str:
    """Return the report as one JSON object, with every check and every field."""
    report = {
        "version": __version__,
        "network": network,
        "healthy": count(found, "problem") == 0,
        "problems": count(found, "problem"),
        "warnings": count(found, "warning"),
        "rungs": [
            {
                "id": rung.id,
                "title": rung.title,
                "status": found[rung.id].status,
                "seen": found[rung.id].seen,
                "why": found[rung.id].why,
                "fix": found[rung.id].fix,
                "try": found[rung.id].command,
                "needs": found[rung.id].needs or None,
            }
            for rung in rungs
        ],
    }
    return json.dumps(report, indent=2) + "\n"


def count(found: Mapping[str, CheckResult], status: Status) -> int:
    return sum(finding.status == status for finding in found.values())


def _advice(finding: CheckResult, terminal: Terminal) -> str:
    text = ""
    for label, advice in (("why", finding.why), ("fix", finding.fix)):
        if advice:
            wrapped = textwrap.wrap(advice, terminal.width - 7 - LABEL_WIDTH, break_on_hyphens=False)
            text += f"      {terminal.paint(f'{label:<{LABEL_WIDTH}}', 'dim')}{wrapped[0]}\n"
            text += "".join(f"{' ' * (6 + LABEL_WIDTH)}{line}\n" for line in wrapped[1:])
    if finding.command:
        label = "see" if finding.command.startswith("https://") else "try"
        text += f"      {terminal.paint(f'{label:<{LABEL_WIDTH}}', 'dim')}{terminal.paint(finding.command, 'cyan')}\n"
    return text


def _many(number: int, name: str) -> str:
    return f"{number} {name}{'s' if number != 1 else ''}"
