"""Runs of `setup` on simulated machines, with a scripted user at the terminal."""

import argparse
import os
import select
from collections.abc import Iterable
from pathlib import Path

from mcp_binance_server.cli.setup.clients import Launcher, Machine
from mcp_binance_server.cli.setup.files import Talk
from mcp_binance_server.cli.setup.one_client import Setup
from mcp_binance_server.cli.terminal import Terminal
from support.clock import FakeClock

LINUX = Machine("linux", "/home/ann", Launcher("/home/ann/.local/bin/mcp-binance-server"))
MACOS = Machine("macos", "/Users/ann", Launcher("/opt/homebrew/bin/uvx", ("mcp-binance-server",)))
WINDOWS = Machine(
    "windows",
    r"C:\Users\ann",
    Launcher(r"C:\Users\ann\.local\bin\mcp-binance-server.exe"),
    {"APPDATA": r"C:\Users\ann\AppData\Roaming"},
)
MACHINES = {machine.system: machine for machine in (LINUX, MACOS, WINDOWS)}


def options(client: str | None, **given: object) -> argparse.Namespace:
    usual: dict[str, object] = {
        "client": client,
        "name": "binance",
        "network": None,
        "no_keys": False,
        "keyring": False,
        "dry_run": False,
        "yes": False,
        "remove": False,
        "trading": False,
        "essential": False,
    }
    return argparse.Namespace(**(usual | given))


class Terminalist:
    """Scripted user at a terminal: the text that appeared, and the answers to type."""

    def __init__(self, secrets: Iterable[str] = (), answers: Iterable[str] = ()) -> None:
        self.seen = ""
        self._secrets, self._answers = list(secrets), list(answers)

    def talk(self) -> Talk:
        return Talk(self._hear, self._answer, self._whisper)

    def _hear(self, text: str) -> None:
        self.seen += text

    def _answer(self, question: str) -> str:
        self.seen += f"{question}\n"
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)

    def _whisper(self, question: str) -> str:
        self.seen += f"{question}\n"
        return self._secrets.pop(0)


def run(machine: Machine, person: Terminalist, client: str, **given: object) -> int:
    return Setup(options(client, **given), machine, person.talk(), Terminal(), FakeClock()).run()


def machine_at(home: Path) -> Machine:
    return Machine("linux", str(home), Launcher("/usr/local/bin/mcp-binance-server"))


def read_until(terminal: int, words: str) -> str:
    """Read what a terminal shows until it shows the words."""
    said = ""
    while words not in said:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, said
        said += os.read(terminal, 4096).decode()
    return said
