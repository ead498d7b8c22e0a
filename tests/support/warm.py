"""Processes that begin warm: forked from one that has loaded everything, instead of loading it for a second or two.

For tests about what a server does. What is about starting, its time or its memory starts a process of its own.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import uuid
from collections.abc import Mapping
from functools import cache
from mmap import mmap
from pathlib import Path
from typing import IO, Any

import coverage

from support.evidence import evidence_folder
from support.lines.loader import store_into

TESTS = Path(__file__).parents[1]
LOADED = (
    "mcp_binance_server.cli.main", "mcp_binance_server.cli.demo", "mcp_binance_server.cli.serve_http",
    "mcp_binance_server.cli.simulator", "mcp_binance_server.cli.workers", "mcp_binance_server.app",
    "mcp_binance_server.surface.catalogue", "mcp_binance_server.state.redis", "support.desk", "support.warm_workers",
)  # fmt: skip
# These say what a process is to count of itself; the one that all come from counts nothing.
COUNTING = ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
STREAMS = 3
LONGEST = 1 << 20


class WarmProcess:
    """What is used of `subprocess.Popen`, for a process whose parent is the one that all come from."""

    def __init__(
        self,
        arguments: list[str],
        code: str | None,
        streams: tuple[int, int, int],
        environment: Mapping[str, str],
        *,
        folder: Path | None = None,
        in_terminal: bool = False,
        program: str | None = None,
    ) -> None:
        """Begin on these descriptors; in a terminal they are one, and it becomes the one that sends signals.

        What has the path of a program was started by that.
        """
        self.args: list[str] = arguments
        told = {
            "arguments": arguments, "code": code, "environment": {**environment},
            "folder": str(folder or Path.cwd()), "in_terminal": in_terminal, "program": program,
        }  # fmt: skip
        self.pid: int = int(origin().asked(told, [*streams]))
        # It is collected when it is asked about, so until then its number is nobody else's.
        self._handle = os.pidfd_open(self.pid)
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self.returncode: int | None = None

    @classmethod
    def piped(
        cls, arguments: list[str], code: str | None, stderr: IO[bytes], environment: Mapping[str, str]
    ) -> "WarmProcess":
        """Begin one that is spoken to."""
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        process = cls(arguments, code, (theirs_in, theirs_out, stderr.fileno()), environment)
        os.close(theirs_in)
        os.close(theirs_out)
        process.stdin = open(ours_in, "wb", buffering=0)  # noqa: PTH123, SIM115 - a descriptor
        process.stdout = open(ours_out, "rb", buffering=0)  # noqa: PTH123, SIM115 - likewise
        return process

    def poll(self) -> int | None:
        return self.returncode if self.returncode is not None else self._collected(0)

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None and self._collected(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def fileno(self) -> int:
        """Return what can be read once it has ended."""
        return self._handle

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)

    def _collected(self, timeout: float | None) -> int | None:
        if not select.select([self._handle], [], [], timeout)[0]:
            return None
        self.returncode = int(origin().asked({"ended": self.pid}, []))
        os.close(self._handle)
        return self.returncode


class Origin:
    """The process that has loaded everything, and does nothing but fork."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn = threading.Lock()
        errors = evidence_folder() / f"stderr-{uuid.uuid4().hex}.txt"
        program = f"import sys; sys.path.insert(0, {str(TESTS)!r}); from support.warm import serve; serve({{}})"
        environment = {name: value for name, value in os.environ.items() if name not in COUNTING}  # noqa: TID251 - a test run has an environment too
        with errors.open("wb") as stderr:
            # Pipes, as those have that come from it: what Python learns of its streams at the start holds for all.
            self._process = subprocess.Popen(
                [sys.executable, "-c", program.format(theirs.fileno())],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment,
                pass_fds=[theirs.fileno()],
            )  # fmt: skip
        theirs.close()

    def asked(self, told: dict[str, Any], descriptors: list[int]) -> bytes:
        with self._turn:
            socket.send_fds(self._ours, [json.dumps(told).encode()], descriptors)
            answer = self._ours.recv(LONGEST)
        assert answer, "the process that all come from has gone; see its standard error among the evidence"
        return answer

    def end(self) -> None:
        self._ours.close()
        self._process.communicate()


@cache
def origin() -> Origin:
    """Return the one of this test process, which begins with the first that needs it."""
    begun = Origin()
    atexit.register(begun.end)
    return begun


def serve(descriptor: int) -> None:
    """Fork on each request until the requesting process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # To load everything is no test of it: of this process nothing counts, of those that come from it what they do.
    counted = _not_counting()
    for name in LOADED:
        importlib.import_module(name)
    gc.freeze()
    line = socket.socket(fileno=descriptor)
    while True:
        text, descriptors, _, _ = socket.recv_fds(line, LONGEST, STREAMS)
        if not text:
            os._exit(0)
        told = json.loads(text)
        if "ended" in told:
            _, status = os.waitpid(told["ended"], 0)
            line.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        if pid := os.fork():
            line.send(str(pid).encode())
            for each in descriptors:
                os.close(each)
            continue
        line.close()
        if counted is not None:
            store_into(counted)
        begin(told, descriptors)
        return


def _not_counting() -> mmap | bytearray | None:
    seen = store_into(bytearray())
    store_into(bytearray(0 if seen is None else len(seen)))
    return seen


def begin(told: dict[str, Any], descriptors: list[int]) -> None:
    """Become the process that was asked for, and run it."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if told["in_terminal"] or told["program"]:
        os.setsid()  # the terminal of whoever runs the tests is not its own
    if told["in_terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # The streams that were inherited belong to other files, which may be seekable where these are not.
    buffering = 1 if told["in_terminal"] else -1
    sys.stdout = open(1, "w", buffering, encoding="utf-8", closefd=False)  # noqa: SIM115 - as at a start
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(told["folder"])
    os.environ.clear()  # noqa: TID251 - likewise
    os.environ.update(told["environment"])  # noqa: TID251 - likewise
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if any(map(told["environment"].get, COUNTING)):
        coverage.process_startup()
    if told["code"] is None:
        from mcp_binance_server import __main__ as command
        from support.warm_workers import fork_workers

        fork_workers()
        sys.argv = [told["program"] or command.__file__, *told["arguments"]]
        sys.exit(command.main())
    sys.argv = ["-c", *told["arguments"]]
    exec(compile(told["code"], "<string>", "exec"), vars(sys.modules["__main__"]))  # noqa: S102 - a test's own program
