"""A real Redis or Valkey for tests: on a socket of its own, without a disk, ended by its process id."""

import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep  # noqa: TID251 - a process starts in real time
from typing import Any

import pytest

from support.clock import FakeClock

BINARY = shutil.which("redis-server") or shutil.which("valkey-server")
# Starts an engine; its type is behind an extra that may be missing.
Connect = Callable[..., Awaitable[Any]]


class StateServer:
    """One server, on a unix socket and a loopback port; it can be killed, frozen and started again, empty."""

    def __init__(self, folder: Path, *options: str, environment: dict[str, str] | None = None) -> None:
        self._folder = folder
        self._environment = environment
        self.port = free_port()
        self.options = options
        self.socket = folder / f"s{self.port}"
        self.process = self._launch()

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def tcp_url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def command(self, *words: str) -> str:
        """Say something to the server as its operator would; return the first line of its answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as line:
            said = "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
            line.sendall(f"*{len(words)}\r\n{said}".encode())
            return line.recv(65_536).decode()

    def commands(self) -> int:
        """Count the commands it has carried out so far."""
        told = self.command("INFO", "stats")
        return int(told.partition("total_commands_processed:")[2].partition("\r")[0])

    def dump(self) -> bytes:
        """Return all keys and their contents, as one piece of bytes."""
        script = """
            local all = {}
            for _, key in ipairs(redis.call('KEYS', '*')) do
              local kind = redis.call('TYPE', key).ok
              all[#all + 1] = key
              if kind == 'string' then all[#all + 1] = redis.call('GET', key) end
              if kind == 'hash' then all[#all + 1] = table.concat(redis.call('HGETALL', key), ' ') end
              if kind == 'zset' then all[#all + 1] = table.concat(redis.call('ZRANGE', key, 0, -1), ' ') end
            end
            return table.concat(all, ' ')"""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as line:
            line.sendall(f"*3\r\n$4\r\nEVAL\r\n${len(script)}\r\n{script}\r\n$1\r\n0\r\n".encode())
            answer = line.makefile("rb")
            return answer.read(int(answer.readline()[1:]))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def start_empty(self) -> None:
        self.process = self._launch()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.thaw()
            self.kill()

    def _launch(self) -> "subprocess.Popen[bytes]":
        assert BINARY is not None
        process = subprocess.Popen(
            [
                BINARY, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", str(self.socket),
                "--save", "", "--appendonly", "no", "--dir", str(self._folder), "--repl-diskless-sync-delay", "0",
                *self.options,
            ],
            stdout=subprocess.DEVNULL,
            env=self._environment,
        )  # fmt: skip
        for _ in range(500):
            try:
                # Another line may still be on its way; anything but an error means that it listens and answers.
                if self.command("PING"):
                    return process
            except OSError:
                sleep(0.01)
        raise AssertionError(f"{BINARY} did not start")


@contextmanager
def state_server(*options: str) -> Generator[StateServer]:
    """Run a server for as long as the block lasts."""
    with TemporaryDirectory() as folder:
        server = StateServer(Path(folder), *options)
        try:
            yield server
        finally:
            server.stop()


class ServerClock(FakeClock):
    """A fake clock that also is the wall clock of a server: both stand still together.

    The server's time is what its engine promises by, so a test must hold that, not a copy of it. A library of a few
    lines, loaded into the server's process, makes it read the time from a file.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self._began_ms = self.now_ms()
        self._write()

    def advance(self, duration_ms: float) -> None:
        super().advance(duration_ms)
        self._write()

    def _write(self) -> None:
        show_time(self._file, self._began_ms + self.monotonic_ms())


def show_time(file: Path, now_ms: float) -> None:
    """Set the wall clock of a held server."""
    with file.open("r+b" if file.exists() else "wb") as shown:
        shown.write(struct.pack("=q", int(now_ms * 1000)))


@cache
def _library(folder: Path) -> Path | None:
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = folder / "server_clock.so"
    source = Path(__file__).with_name("server_clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True)
    return library


@contextmanager
def held_server() -> Generator[tuple[StateServer, Path]]:
    """Run a server whose clock is a file; skip, and say why, where that cannot be."""
    if BINARY is None:
        pytest.skip("the engine of a fleet is not tested here: no redis-server or valkey-server is installed")
    with TemporaryDirectory() as name:
        folder = Path(name)
        library = _library(folder)
        if library is None:
            pytest.skip("the engine of a fleet is not tested here: no C compiler to hold the server's clock")
        shown = folder / "now"
        ServerClock(shown)
        server = StateServer(folder, environment={"LD_PRELOAD": str(library), "SERVER_CLOCK": str(shown)})
        try:
            yield server, shown
        finally:
            server.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
