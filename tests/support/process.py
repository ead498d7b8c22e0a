"""Our command as a real process, spoken to over its real pipes."""

import fcntl
import json
import os
import select
import struct
import subprocess
import sys
import termios
import uuid
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Self

from support.evidence import evidence_folder
from support.raw import INITIALIZE, INITIALIZED, request
from support.warm import WarmProcess

COMMAND = (sys.executable, "-m", "mcp_binance_server")
PATIENCE_SECS = 60.0


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return this environment without the settings of the developer."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("BINANCE_", "MCP_BINANCE_", "CHART_IMG_"))}  # noqa: TID251
    return {**inherited, "XDG_CONFIG_HOME": "/nonexistent", "MCP_BINANCE_STATE_DIR": "off", **extra}


def _cold(
    arguments: tuple[str, ...], code: str | None, stderr: IO[bytes], environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", code, *arguments] if code else [*COMMAND, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, bufsize=0, env=environment)


def run_warm(
    *arguments: str,
    given: bytes = b"",
    stdin: int | None = None,
    stdout: IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a command to its end, forked warm, as `subprocess.run` would; what is given has room in a pipe."""
    theirs, ours = os.pipe()
    os.write(ours, given)
    os.close(ours)
    with TemporaryFile() as out, TemporaryFile() as errors:
        streams = (theirs if stdin is None else stdin, (stdout or out).fileno(), errors.fileno())
        process = WarmProcess([*arguments], None, streams, clean_environment(environment or {}))
        os.close(theirs)
        try:
            code = process.wait(PATIENCE_SECS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess([*arguments], code, *(_all_of(each) for each in (out, errors)))


def _all_of(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


class Process:
    """A running command: lines in, lines out, standard error kept as evidence."""

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        code: str | None = None,
        warm: bool = False,
    ) -> None:
        """Start it; a warm one is forked from a process that has loaded everything, see support/warm.py."""
        self.errors: Path = evidence_folder() / f"stderr-{uuid.uuid4().hex}.txt"
        self.output: Path = self.errors.with_name(self.errors.name.replace("stderr", "stdout"))
        own = clean_environment({"MCP_BINANCE_LOG_LEVEL": "DEBUG", **(environment or {})})
        with self.errors.open("wb") as stderr:
            self._process = (
                WarmProcess.piped([*arguments], code, stderr, own) if warm else _cold(arguments, code, stderr, own)
            )
        self._buffer = b""
        self._kept = self.output.open("wb")

    def send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    def send_while_read(self, data: bytes, patience_secs: float) -> int:
        """Send as much as fits until it is not read for this time. Return the number of bytes."""
        assert self._process.stdin is not None
        descriptor, sent = self._process.stdin.fileno(), 0
        os.set_blocking(descriptor, False)
        try:
            while sent < len(data) and select.select([], [descriptor], [], patience_secs)[1]:
                sent += os.write(descriptor, data[sent : sent + select.PIPE_BUF])
        finally:
            os.set_blocking(descriptor, True)
        return sent

    def say(self, *messages: dict[str, Any]) -> None:
        self.send(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def line(self, patience_secs: float = PATIENCE_SECS) -> bytes:
        """Return the next line of standard output; empty at its end."""
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], patience_secs)
            assert ready, f"no line within {patience_secs} s; stderr: {self.errors.read_text(errors='replace')[-2000:]}"
            chunk = os.read(self._process.stdout.fileno(), 65536)
            self._kept.write(chunk)
            if not chunk:
                return b""
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    def has_spoken(self, patience_secs: float) -> bool:
        """Wait so long for something on standard output, and tell whether there is."""
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], patience_secs)[0])

    def answer(self) -> dict[str, Any]:
        return json.loads(self.line())

    def ask(
        self, request_id: str | int, method: str, params: dict[str, Any], *, modern: bool = False
    ) -> dict[str, Any]:
        """Send one request and return the next answer, which must be its own."""
        self.say(request(request_id, method, params, modern=modern))
        answer = self.answer()
        assert answer["id"] == request_id, answer
        return answer

    def shake_hands(self) -> dict[str, Any]:
        self.say(INITIALIZE)
        answer = self.answer()
        self.say(INITIALIZED)
        return answer

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def resident_mib(self) -> float:
        """Return the memory the process holds now."""
        fields = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def close_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def is_unread(self) -> bool:
        """Tell whether its standard output is full, or so full that the next long line has no room."""
        assert self._process.stdout is not None
        (waiting,) = struct.unpack("i", fcntl.ioctl(self._process.stdout, termios.FIONREAD, bytes(4)))
        return waiting * 2 >= fcntl.fcntl(self._process.stdout, fcntl.F_GETPIPE_SZ)

    def close_output(self) -> None:
        """Leave as a reader does that has seen enough."""
        assert self._process.stdout is not None
        self._process.stdout.close()

    def wait(self, patience_secs: float = PATIENCE_SECS) -> int:
        return self._process.wait(patience_secs)

    def kill(self) -> int:
        self._process.kill()
        return self.wait()

    def terminate(self) -> int:
        self._process.terminate()
        return self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.close_input()
            try:
                self.wait()
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdout is not None and not self._process.stdout.closed:
            self._kept.write(self._process.stdout.read())
            self._process.stdout.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._kept.close()
