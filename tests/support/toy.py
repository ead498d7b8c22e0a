"""A small application behind the real guard and the real socket; run as a program, a server of its own.

    python tests/support/toy.py '{"head_secs": 0.5, "body_secs": 0.5, "reading_secs": 0.5, "most": 800}'

The first line on stdout is the port.
"""

import asyncio
import gc
import json
import os
import sys
from dataclasses import replace

import anyio
from starlette.types import Receive, Scope, Send

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.telemetry.logs import configure_logging
from mcp_binance_server.transports.http.admission.guard import BodyLimits, Guard
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.server.connection import ConnectionLimits
from mcp_binance_server.transports.http.server.fairness import Turns
from mcp_binance_server.transports.http.server.serving import GRACE_SECS, serve_http

BEGIN = "import runpy, sys; sys.argv[1:] = [{options!r}]; runpy.run_path({path!r}, run_name='__main__')"
LONG_ANSWER = 2**20
WORK_MS = 300.0


def toy_code(**options: float) -> str:
    """Return a program that runs this server."""
    return BEGIN.format(options=json.dumps(options), path=__file__)


class Toy:
    """Echoes a body; has an answer that is long, one that takes a while and one that never ends by itself."""

    def __init__(self) -> None:
        self.closing = anyio.Event()
        self.begun = 0
        self.ended = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun += 1
        body = (await receive()).get("body", b"")
        match scope["path"]:
            case "/long":
                body = b"x" * LONG_ANSWER
            case "/work":
                await SystemClock().sleep_ms(WORK_MS)
            case "/stuck":
                await anyio.sleep_forever()
            case "/stream":
                await self._stream(receive, send)
                return
            case "/counts":
                body = json.dumps(counts()).encode()
            case _:
                pass
        head = [(b"content-type", b"application/octet-stream"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})
        self.ended += 1

    async def _stream(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"open", "more_body": True})
        async with anyio.create_task_group() as either:

            async def until_disconnect() -> None:
                await receive()
                either.cancel_scope.cancel()

            either.start_soon(until_disconnect)
            await self.closing.wait()
            either.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"closed"})
        self.ended += 1

    async def drain(self) -> None:
        self.closing.set()


def counts() -> dict[str, int]:
    """Return what could be left behind: descriptors and tasks of this process."""
    gc.collect()
    return {"descriptors": len(os.listdir("/proc/self/fd")), "tasks": len(anyio.get_running_tasks())}  # noqa: PTH208


async def served_once() -> None:
    """Listen and stop: from its first socket on uvloop keeps a descriptor in reserve, which is nothing left behind."""
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    server.close()
    await server.wait_closed()


async def run(options: dict[str, float]) -> None:
    toy, connections, bodies = Toy(), ConnectionLimits(), BodyLimits()
    connections = replace(
        connections,
        head_secs=options.get("head_secs", connections.head_secs),
        reading_secs=options.get("reading_secs", connections.reading_secs),
        idle_secs=int(options.get("idle_secs", connections.idle_secs)),
        most=int(options.get("most", connections.most)),
    )
    bodies = replace(bodies, secs=options.get("body_secs", bodies.secs))

    def ready(port: int) -> None:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()

    await served_once()
    before = counts()
    await serve_http(
        Guard(Turns(toy, SystemClock()), allow(), bodies),
        host="127.0.0.1",
        port=0,
        ready=ready,
        drain=toy.drain,
        grace_secs=options.get("grace_secs", GRACE_SECS),
        limits=connections,
    )
    left = {name: number - before[name] for name, number in counts().items()}
    sys.stdout.write(json.dumps({"begun": toy.begun, "ended": toy.ended, "left": left}) + "\n")


if __name__ == "__main__":
    configure_logging("WARNING", ())
    chosen = json.loads("".join(sys.argv[1:]) or "{}")
    anyio.run(run, chosen, backend_options={"use_uvloop": bool(chosen.get("uvloop"))})
