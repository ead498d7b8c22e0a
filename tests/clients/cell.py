"""Run one client with the scripted model and a server on a pipe, and keep the facts of that run."""

import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from clients.model import ScriptedModel, Shown, Step, serving
from clients.table import Client

HERE = Path(__file__).parent
SERVER = (sys.executable, "-P", "-m", "mcp_binance_server")
# Nothing leaves this machine: a client's telemetry and its search for updates meet a closed port.
OFFLINE = {f"{scheme}_PROXY": "http://127.0.0.1:9" for scheme in ("HTTP", "HTTPS")} | {
    "NO_PROXY": "127.0.0.1,localhost"
}
MARK = "MCP_TEST_CELL"
GONE_SECS = 5.0


class Line(NamedTuple):
    """A line of the pipe; `mark` is `>` from the client, `<` from the server, `!` for an end."""

    mark: str
    text: str


@dataclass(frozen=True)
class Run:
    """One client's run: requests to the model, lines of the pipe, and the end of its processes."""

    client: Client
    shown: Sequence[Shown]
    lines: Sequence[Line]
    code: int | None
    left: Sequence[str]
    output: str

    @cached_property
    def last(self) -> Shown:
        """Return the request with the most tool results."""
        return max(self.shown, key=lambda each: len(each.results))

    def messages(self, mark: str) -> Iterator[dict[str, Any]]:
        """Yield the JSON-RPC messages of one side."""
        yield from (json.loads(line.text) for line in self.lines if line.mark == mark and line.text.startswith("{"))

    @property
    def noise(self) -> list[str]:
        """Return the lines of the server's standard output that are no messages."""
        return [line.text for line in self.lines if line.mark == "<" and not line.text.startswith("{")]

    def methods(self, mark: str) -> list[str]:
        return [str(each["method"]) for each in self.messages(mark) if "method" in each]

    @property
    def revision(self) -> str:
        """Return the MCP revision of the last tool call, or the one that `initialize` agreed on."""
        agreed = [each["result"] for each in self.messages("<") if "result" in each]
        found = [str(each["protocolVersion"]) for each in agreed if "protocolVersion" in each]
        calls = [each["params"] for each in self.messages(">") if each.get("method") == "tools/call"]
        meta = [each.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion") for each in calls]
        return next((str(each) for each in reversed(meta) if each), found[-1] if found else "none")


@dataclass
class Cell:
    """A client in a folder of its own, running."""

    client: Client
    folder: Path
    model: ScriptedModel
    process: "subprocess.Popen[bytes]"
    mark: str

    def wait(self, patience_secs: float) -> None:
        """Wait for the client's end, and kill it after that time."""
        try:
            self.process.wait(patience_secs)
        except subprocess.TimeoutExpired:
            self.kill()

    def interrupt(self) -> None:
        """Send SIGINT as a terminal does: to the client's group of processes."""
        os.killpg(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """Kill the client's own processes, not the server's."""
        _kill(f"{self.mark}-client")
        self.process.wait()

    def over(self) -> Run:
        """Return the run, once every process has ended or had its time to."""
        left = _left(self.mark)
        log = self.folder / "pipe.log"
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        lines = [Line(line[:1], line[2:]) for line in text.split("\n") if line]
        output = (self.folder / "output.txt").read_text(encoding="utf-8", errors="replace")
        return Run(self.client, self.model.shown, lines, self.process.returncode, left, output)


def play(
    client: Client,
    installed: Path,
    folder: Path,
    script: Sequence[Step],
    *,
    server: Sequence[str] = (*SERVER, "demo"),
    variables: Mapping[str, str] | None = None,
) -> Run:
    """Run a client to the end of the script."""
    with started(client, installed, folder, script, server=server, variables=variables or {}) as cell:
        cell.wait(client.patience_secs)
        return cell.over()


@contextmanager
def started(
    client: Client,
    installed: Path,
    folder: Path,
    script: Sequence[Step],
    *,
    server: Sequence[str] = (*SERVER, "demo"),
    variables: Mapping[str, str] | None = None,
    is_held: bool = False,
) -> Generator[Cell]:
    """Start a client with a home of its own, and end everything that it started; `is_held` delays the last reply."""
    mark = f"cell-{uuid.uuid4().hex}"
    home = folder / "home"
    shutil.copytree(HERE / "programs", home, ignore=shutil.ignore_patterns("__pycache__"))
    (home / "node_modules").symlink_to(installed / client.place / "node_modules")
    command = _launcher(folder, mark, server, {**client.settings, **(variables or {})})
    with serving(ScriptedModel(client.worded(script), is_held=is_held)) as model:
        places = {"server": str(command), "model": model.url, "home": str(home), "installed": str(installed)}
        for name, source in client.files.items():
            text = (HERE / "configs" / source).read_text(encoding="utf-8")
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(Template(text).substitute(places), encoding="utf-8")
        words = [Template(each).substitute(places) for each in client.command]
        place = installed / client.place
        folders = (
            place / "bin",
            place / "node_modules" / ".bin",
            *installed.glob("npm*/node_modules/node-linux-*/bin"),
        )
        # A package whose launcher needs an install script is started by its program, at a place with a wildcard.
        program = str(next(place.glob(words[0]))) if "/" in words[0] else words[0]
        environment = {
            "PATH": ":".join([*map(str, folders), os.defpath]), "HOME": str(home), "LANG": "C.UTF-8",
            "NO_COLOR": "1", "DO_NOT_TRACK": "1",
            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", MARK: f"{mark}-client",
            "MODEL_URL": model.url, "SERVER": str(command), **OFFLINE,
            **{name: Template(text).substitute(places) for name, text in client.variables.items()},
        }  # fmt: skip
        with (folder / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                [program, *words[1:]], cwd=home, env=environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        try:
            yield Cell(client, folder, model, process, mark)
        finally:
            _kill(mark)
            process.wait()


def _launcher(folder: Path, mark: str, server: Sequence[str], variables: Mapping[str, str]) -> Path:
    """Write the command that clients start: the server behind the spy, with an environment of its own."""
    own = {
        "PATH": os.defpath, "HOME": str(folder / "server"), "LANG": "C.UTF-8", MARK: f"{mark}-server",
        "MCP_BINANCE_STATE_DIR": str(folder / "server" / "state"), **variables,
    }  # fmt: skip
    (folder / "server").mkdir()
    words = ["env", "-i", *(f"{name}={text}" for name, text in own.items())]
    words += [sys.executable, "-I", "-S", str(HERE / "spy.py"), str(folder / "pipe.log"), *server]
    path = folder / "server" / "start"
    path.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n", encoding="utf-8")
    path.chmod(0o700)
    return path


def marked(mark: str) -> list[int]:
    """Return the processes that inherited a mark; one that has ended has no environment."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment:
            found.append(int(folder.name))
    return found


def _kill(mark: str) -> None:
    for pid in marked(mark):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _left(mark: str) -> list[str]:
    """Wait for the processes of a cell, and return the commands of those that do not end."""
    for pid in marked(mark):
        try:
            ended = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            select.select([ended], [], [], GONE_SECS)
        finally:
            os.close(ended)
    left = [Path(f"/proc/{pid}/cmdline") for pid in marked(mark)]
    return [path.read_bytes().replace(b"\0", b" ").decode()[:150] for path in left if path.exists()]
