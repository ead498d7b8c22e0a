"""Takes out of a report what is nobody's business: keys, addresses, the name of the home folder."""

import re
from collections.abc import Iterable
from dataclasses import replace
from ipaddress import ip_address

from mcp_binance_server.cli.doctor.finding import CheckResult
from mcp_binance_server.errors import echo
from mcp_binance_server.telemetry.logs import Redactor

_ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w.]*\w)")
# What our own advice names.
_PUBLIC = frozenset({"1.1.1.1", "9.9.9.9"})
LONGEST = 400


class Cleaner:
    """Cleans the texts of a finding; its repr shows none of what it knows."""

    def __init__(self, secrets: Iterable[str], home: str) -> None:
        self._redactor = Redactor(secrets)
        self._home = home.rstrip("/\\")

    def clean(self, finding: CheckResult) -> CheckResult:
        texts = {name: self.text(getattr(finding, name)) for name in ("seen", "why", "fix", "command")}
        return replace(finding, **texts)

    def text(self, text: str) -> str:
        text = self._redactor.redact(text)
        if len(self._home) > 1:
            text = text.replace(self._home, "~")
        shown = "".join(each if each.isprintable() else " " for each in _ADDRESS.sub(_hidden, text))
        return shown if len(shown) <= LONGEST else echo(shown)

    def __repr__(self) -> str:
        return "Cleaner()"


def _hidden(found: re.Match[str]) -> str:
    try:
        address = ip_address(found.group())
    except ValueError:
        return found.group()
    return found.group() if address.is_loopback or found.group() in _PUBLIC else "[address]"
