"""Worker processes on one port: the supervisor and the worker."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryDirectory

import anyio
import msgspec
from anyio.abc import Process

from mcp_binance_server.app import running_app
from mcp_binance_server.cli.arguments import EXIT_USAGE
from mcp_binance_server.cli.interruption import ExitWatchdog
from mcp_binance_server.cli.listening import ListenOn, authentication_of, refuse_strangers
from mcp_binance_server.cli.serve import prepare, prepare_logging
from mcp_binance_server.cli.serve_http import about_probes, allowed_by, announcing, fastest_loop, options_of, probe_app
from mcp_binance_server.cli.terminal import Verbosity
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.loading import tune_gc
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.transports.arrival import Certificate
from mcp_binance_server.transports.http.assembly import assemble
from mcp_binance_server.transports.http.probe_port import WorkerProbes, serve_probe_port
from mcp_binance_server.transports.http.relay import INSIDE, WorkerLines, WorkerSlot, listen_inside
from mcp_binance_server.transports.http.server.serving import (
    GRACE_SECS,
    ListeningApp,
    Shutdown,
    listen,
    serve_apps,
    stop_on_signals,
)

READY, ALIVE = b"ready", b"alive"
BEAT_MS = 500.0

LOG = logging.getLogger(__name__)

FIRST_PAUSE_MS = 250.0
LONGEST_PAUSE_MS = 10_000.0
# The restart delay grows for a worker that lived shorter than this, and is reset after a longer life.
STEADY_MS = 5_000.0
# Heartbeat timeout. Workers send a heartbeat twice a second. A silent worker is killed within 5 s.
SILENT_MS = 4_000.0
LOOK_EVERY_MS = 500.0
# Time after the grace period for closing connections and releasing shared limits.
LAST_WORDS_SECS = 3.0
# Slightly longer than the same limit in the workers.
KEEPERS_MOMENT_SECS = 0.9


class WorkerConfig(msgspec.Struct, frozen=True):
    """Configuration that the supervisor passes to a worker at its start."""

    number: int
    of: int
    verbosity: Verbosity
    folder: str
    host: str
    port: int
    listener: int
    certificate: Certificate | None = None

    def command(self) -> list[str]:
        told = msgspec.json.encode(self, enc_hook=str).decode()
        return [sys.executable, "-m", "mcp_binance_server.cli.workers", told]


def main(told: str) -> int:
    """Run a worker until a stop signal, or until the supervisor exits."""
    tune_gc()
    try:
        settings, post = read_settings(), msgspec.json.decode(told, type=WorkerConfig, dec_hook=_path)
        prepare_logging(settings, post.verbosity)
        anyio.run(_work, settings, post, ExitWatchdog(0), backend_options=fastest_loop())
    except SettingsError as error:
        print(error.message, file=sys.stderr)  # noqa: T201 - a person reads it
        return EXIT_USAGE
    return 0


def _path(kind: type, text: object) -> Path:
    assert kind is Path  # noqa: S101 - only paths need a hook
    return Path(str(text))


async def _work(settings: Settings, post: WorkerConfig, last_moment: ExitWatchdog) -> None:
    clock, stop = SystemClock(), Shutdown(at_ctrl_c=last_moment.begin)
    place, slot = ListenOn(post.host, post.port), WorkerSlot(post.number, post.of, Path(post.folder))
    family = socket.AF_INET6 if ":" in post.host else socket.AF_INET
    # Name the protocol as when the socket was created, because asyncio sets TCP_NODELAY only then.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=post.listener)
    async with (
        authentication_of(settings, clock) as authentication,
        running_app(settings, clock=clock, callers_bring_keys=True, preload=True, examines_key=post.number == 0) as app,
    ):
        app.dispatcher.catalogue.prepare()
        http = assemble(app.server, app.dispatcher, clock, options_of(settings, place, authentication, slot))
        apps = [
            ListeningApp(listener, http.asgi, tls=post.certificate.context() if post.certificate else None),
            ListeningApp(listen_inside(slot.address(post.number)), http.inside, INSIDE),
        ]
        try:
            async with http.running(), anyio.create_task_group() as tasks:
                tasks.start_soon(_stop_without_keeper, stop)
                tasks.start_soon(_beat, clock)
                await serve_apps(apps, ready=_tell, drain=http.heart.drain, stop=stop)
                tasks.cancel_scope.cancel()
        finally:
            slot.address(post.number).unlink(missing_ok=True)
            with suppress(OSError):  # The last worker also removes the folder, because the supervisor may be dead.
                slot.folder.rmdir()


async def _stop_without_keeper(stop: Shutdown) -> None:
    # The supervisor never writes to this pipe. It becomes readable when the supervisor exits.
    await anyio.wait_readable(sys.stdin.fileno())
    stop.asked.set()


async def _beat(clock: Clock) -> None:
    """Send heartbeats without blocking the loop if the supervisor does not read them."""
    os.set_blocking(sys.stdout.fileno(), False)
    while True:
        await clock.sleep_ms(BEAT_MS)
        with suppress(BlockingIOError):
            os.write(sys.stdout.fileno(), ALIVE + b"\n")


def _tell() -> None:
    os.write(sys.stdout.fileno(), READY + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))


def run_workers(place: ListenOn, workers: int, verbosity: Verbosity, *, unsafe: bool) -> int:
    """Run the workers until a signal, then shut each of them down gracefully.

    Raises:
        SettingsError: a resource cannot be shared, or the address is taken or reachable without authentication.
    """
    settings = prepare(verbosity)
    refuse_strangers(settings, place, unsafe=unsafe)
    refuse_unshareable_settings(settings, workers)
    if place.certificate:
        place.certificate.context()  # report a bad certificate once, and not once per worker
    listener = listen(place.host, place.port)
    with TemporaryDirectory(prefix="mcp-binance-") as folder, listener:  # only this user can read the folder
        port = listener.getsockname()[1]
        probes = None if place.probe_port is None else listen(place.host, place.probe_port)
        announce = announcing(place, verbosity, f"{workers} workers; {about_probes(probes)}")
        supervisor = WorkerSupervisor(
            place, workers, verbosity, listener, Path(folder), SystemClock(), ready=lambda: announce(port)
        )
        with ExitStack() as stack:
            if probes is not None:
                answers = WorkerProbes(
                    workers, WorkerLines(Path(folder)), supervisor.alive, asks_for_token=not place.is_local
                )
                stack.enter_context(serve_probe_port(probe_app(place, probes, answers, allowed_by(settings))))
            return anyio.run(supervisor.run, ExitWatchdog(0, KEEPERS_MOMENT_SECS))


def refuse_unshareable_settings(settings: Settings, workers: int, platform: str = sys.platform) -> None:
    """Check that processes can share a port and the request weight of their IP."""
    if platform == "win32":
        raise SettingsError(problems=("--workers: on Windows only one process can use a port; start one server",))
    if settings.state_url.get_secret_value() == "memory://":
        raise SettingsError(
            problems=(
                f"--workers {workers} needs MCP_BINANCE_STATE_URL with a Redis or Valkey address: processes that count "
                "their request weight separately get their IP banned",
            )
        )


def next_pause_ms(last_ms: float, lived_ms: float) -> float:
    """Return the restart delay after a worker that lived for `lived_ms`."""
    is_first = not last_ms or lived_ms >= STEADY_MS
    return FIRST_PAUSE_MS if is_first else min(2 * last_ms, LONGEST_PAUSE_MS)


@dataclass
class WorkerSupervisor:
    """Supervisor that starts the workers, restarts dead ones and waits for all of them at shutdown."""

    place: ListenOn
    workers: int
    verbosity: Verbosity
    listener: socket.socket
    folder: Path
    clock: Clock
    ready: Callable[[], None]
    _stop: Shutdown = field(init=False)
    _running: dict[int, Process] = field(default_factory=dict[int, Process], init=False)
    _opened: set[int] = field(default_factory=set[int], init=False)
    _heard_ms: dict[int, float] = field(default_factory=dict[int, float], init=False)
    _code: int = field(default=0, init=False)

    async def run(self, last_moment: ExitWatchdog) -> int:
        """Run until a signal; return 0, or the exit code of a worker that could not start."""
        self._stop = Shutdown(at_ctrl_c=last_moment.begin)
        with stop_on_signals(self._stop):
            async with anyio.create_task_group() as watch:
                async with anyio.create_task_group() as keeping:
                    for number in range(self.workers):
                        keeping.start_soon(self._keep, number)
                    await self._stop.asked.wait()
                    self.listener.close()
                    watch.start_soon(self._kill_late_workers)
                watch.cancel_scope.cancel()
        return self._code

    def alive(self) -> int:
        """Return the number of workers with a recent heartbeat. Other threads call this too."""
        now = self.clock.monotonic_ms()
        return sum(now - heard_ms <= SILENT_MS for heard_ms in [*self._heard_ms.values()])

    async def _keep(self, number: int) -> None:
        pause_ms = 0.0
        while not self._stop.asked.is_set():
            began_ms = self.clock.monotonic_ms()
            code = await self._employ(number)
            if self._stop.asked.is_set():
                return
            if number not in self._opened:  # A worker that could not start would fail again.
                self._code = max(1, code)
                self._stop.asked.set()
                return
            pause_ms = next_pause_ms(pause_ms, self.clock.monotonic_ms() - began_ms)
            LOG.error("worker %d exited with code %d; restart in %d ms", number, code, pause_ms)
            await self._pause(pause_ms)

    async def _employ(self, number: int) -> int:
        post = WorkerConfig(
            number=number,
            of=self.workers,
            verbosity=self.verbosity,
            folder=str(self.folder),
            host=self.place.host,
            port=self.place.port,
            listener=self.listener.fileno(),
            certificate=self.place.certificate,
        )
        # A new session shields the worker from the terminal's Ctrl-C. A second signal would abort its requests.
        async with await anyio.open_process(
            post.command(), stdin=PIPE, stdout=PIPE, stderr=None, pass_fds=(post.listener,), start_new_session=True
        ) as process:
            self._running[number] = process
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hear, number, process)
                tasks.start_soon(self._watch, number, process)
                tasks.start_soon(self._dismiss_when_asked, number, process)
                await process.wait()
                tasks.cancel_scope.cancel()
        del self._running[number]
        self._heard_ms.pop(number, None)
        return process.returncode or 0

    async def _hear(self, number: int, process: Process) -> None:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        async for said in process.stdout:
            self._heard_ms[number] = self.clock.monotonic_ms()
            if READY in said.split() and number not in self._opened:
                self._opened.add(number)
                if len(self._opened) == self.workers:
                    self.ready()

    async def _watch(self, number: int, process: Process) -> None:
        """Kill a worker without heartbeats, so that the supervisor restarts it."""
        while not self._stop.asked.is_set():
            asleep_ms = self.clock.monotonic_ms()
            await self.clock.sleep_ms(LOOK_EVERY_MS)
            now = self.clock.monotonic_ms()
            if number not in self._heard_ms:  # still loading
                continue
            if now - asleep_ms > 2 * LOOK_EVERY_MS:  # the supervisor itself was blocked and could not read heartbeats
                self._heard_ms[number] = now
            elif now - self._heard_ms[number] > SILENT_MS:
                LOG.error("worker %d sent no heartbeat for %d s and is killed", number, SILENT_MS / 1000)
                process.kill()
                return

    async def _dismiss_when_asked(self, number: int, process: Process) -> None:
        await self._stop.asked.wait()
        if self._stop.is_hasty:
            # A worker that is still loading has no Ctrl-C handler and no requests.
            process.send_signal(signal.SIGINT if number in self._opened else signal.SIGTERM)
        elif process.stdin is not None:
            # Close the pipe and send no signal, because a process manager may have signalled each worker already.
            await process.stdin.aclose()

    async def _pause(self, pause_ms: float) -> None:
        with anyio.move_on_after(pause_ms / 1000):
            await self._stop.asked.wait()

    async def _kill_late_workers(self) -> None:
        with self._stop.patience:
            self._stop.patience.deadline = anyio.current_time() + GRACE_SECS + LAST_WORDS_SECS
            await anyio.sleep_forever()
        for process in self._running.values():
            with suppress(ProcessLookupError):
                process.terminate()
        await self.clock.sleep_ms(LAST_WORDS_SECS * 1000)
        for process in self._running.values():
            with suppress(ProcessLookupError):
                process.kill()
