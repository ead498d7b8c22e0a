"""One of the processes that `--workers` starts: serves on a socket it is given, and ends when its keeper does."""

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import msgspec

from mcp_binance_server.app import running_app
from mcp_binance_server.cli.arguments import EXIT_USAGE
from mcp_binance_server.cli.collector import calm
from mcp_binance_server.cli.entrance import ListenOn, entrance_of
from mcp_binance_server.cli.interruption import LastMoment
from mcp_binance_server.cli.manners import Manners
from mcp_binance_server.cli.serve import prepare_logging
from mcp_binance_server.cli.serve_http import fastest_loop, options_of
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.transports.certificate import Certificate
from mcp_binance_server.transports.http.assembly import assemble
from mcp_binance_server.transports.http.relay import INSIDE, Seat, listen_inside
from mcp_binance_server.transports.http.server.serving import ListeningApp, Shutdown, serve_doors

READY, ALIVE = b"ready", b"alive"
BEAT_MS = 500.0


class Post(msgspec.Struct, frozen=True):
    """What a worker is told: which of how many it is, how much to say, where they meet, and what it listens on."""

    number: int
    of: int
    manners: Manners
    folder: str
    host: str
    port: int
    listener: int
    certificate: Certificate | None = None

    def command(self) -> list[str]:
        told = msgspec.json.encode(self, enc_hook=str).decode()
        return [sys.executable, "-m", "mcp_binance_server.cli.worker", told]


def main(told: str) -> int:
    """Serve until told to stop, or until the one who started this process is gone."""
    calm()
    try:
        settings, post = read_settings(), msgspec.json.decode(told, type=Post, dec_hook=_path)
        prepare_logging(settings, post.manners)
        anyio.run(_work, settings, post, LastMoment(0), backend_options=fastest_loop())
    except SettingsError as error:
        print(error.message, file=sys.stderr)  # noqa: T201 - a person reads it
        return EXIT_USAGE
    return 0


def _path(kind: type, text: object) -> Path:
    assert kind is Path  # noqa: S101 - nothing else of a post needs help
    return Path(str(text))


async def _work(settings: Settings, post: Post, last_moment: LastMoment) -> None:
    clock, stop = SystemClock(), Shutdown(at_ctrl_c=last_moment.begin)
    place, seat = ListenOn(post.host, post.port), Seat(post.number, post.of, Path(post.folder))
    family = socket.AF_INET6 if ":" in post.host else socket.AF_INET
    # The protocol is named for the same reason as where the socket was made: answers go without delay.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=post.listener)
    async with (
        entrance_of(settings, clock) as entrance,
        running_app(settings, clock=clock, callers_bring_keys=True, preload=True, examines_key=post.number == 0) as app,
    ):
        app.dispatcher.catalogue.prepare()
        http = assemble(app.server, app.dispatcher, clock, options_of(settings, place, entrance, seat))
        doors = [
            ListeningApp(listener, http.asgi, tls=post.certificate.context() if post.certificate else None),
            ListeningApp(listen_inside(seat.address(post.number)), http.inside, INSIDE),
        ]
        try:
            async with http.running(), anyio.create_task_group() as tasks:
                tasks.start_soon(_stop_without_keeper, stop)
                tasks.start_soon(_beat, clock)
                await serve_doors(doors, ready=_tell, drain=http.heart.drain, stop=stop)
                tasks.cancel_scope.cancel()
        finally:
            seat.address(post.number).unlink(missing_ok=True)
            with suppress(OSError):  # the last one takes the folder along, should nobody else be left to
                seat.folder.rmdir()


async def _stop_without_keeper(stop: Shutdown) -> None:
    # Nothing is ever written to it, so there is something to read only at its end.
    await anyio.wait_readable(sys.stdin.fileno())
    stop.asked.set()


async def _beat(clock: Clock) -> None:
    """Say again and again that the loop turns; a keeper that does not listen must not stop it."""
    os.set_blocking(sys.stdout.fileno(), False)
    while True:
        await clock.sleep_ms(BEAT_MS)
        with suppress(BlockingIOError):
            os.write(sys.stdout.fileno(), ALIVE + b"\n")


def _tell() -> None:
    os.write(sys.stdout.fileno(), READY + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
