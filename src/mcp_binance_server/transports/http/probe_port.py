"""Probes and metrics on a port of their own, for one process or for all workers."""

import asyncio
import json
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import anyio
import httpx2
from starlette.types import Message, Receive, Scope, Send

from mcp_binance_server.clock import Clock
from mcp_binance_server.transports.http.admission.refusals import refuse
from mcp_binance_server.transports.http.app import PROBES, HttpApp
from mcp_binance_server.transports.http.mcp.exchange import not_allowed, reply_figures, reply_json
from mcp_binance_server.transports.http.mcp.sessions import header
from mcp_binance_server.transports.http.relay import PROBED, RELAYED_FOR, WorkerLines, merged
from mcp_binance_server.transports.http.server.serving import ListeningApp, Shutdown, serve_apps

BEAT_MS = 500.0
# Heartbeat timeout. A worker without a heartbeat for longer is replaced.
SILENT_MS = 4_000.0
# Shorter than the timeouts of probing clients, which are at least a second.
PATIENCE_SECS = 2.0
_START_SECS = 10.0
_END_SECS = 1.0

_PATIENCE = {"timeout": dict.fromkeys(("connect", "write", "pool", "read"), PATIENCE_SECS)}


@dataclass
class Heartbeat:
    """Heartbeat of an event loop, which other threads can read."""

    clock: Clock
    _beat_ms: float = field(init=False)

    def __post_init__(self) -> None:
        self._beat_ms = self.clock.monotonic_ms()

    async def beat(self) -> None:
        while True:
            self._beat_ms = self.clock.monotonic_ms()
            await self.clock.sleep_ms(BEAT_MS)

    @property
    def silent_ms(self) -> float:
        return self.clock.monotonic_ms() - self._beat_ms


@dataclass(frozen=True)
class PortProbes:
    """Probes of one process.

    They read the heartbeat in their own thread. The server's event loop answers the rest, within a timeout.
    """

    heart: HttpApp
    pulse: Heartbeat
    home: asyncio.AbstractEventLoop
    asks_for_token: bool
    patience_secs: float = PATIENCE_SECS

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if not await is_probe(scope, send):
            return
        if scope["path"] == "/healthz":
            await self._healthz(send)
            return
        answer = asyncio.run_coroutine_threadsafe(self._answer(scope), self.home)
        try:
            messages = await asyncio.wait_for(asyncio.wrap_future(answer), self.patience_secs)
        except TimeoutError:
            await refuse(send, 503, "busy", "The server has not answered in time", headers=[(b"retry-after", b"1")])
            return
        for message in messages:
            await send(message)

    async def _healthz(self, send: Send) -> None:
        silent_ms = self.pulse.silent_ms
        if silent_ms <= SILENT_MS:
            await reply_json(send, b'{"status":"ok"}')
        else:
            told = {"status": "held", "silent_secs": round(silent_ms / 1000)}
            await reply_json(send, json.dumps(told).encode(), status=503)

    async def _answer(self, scope: Scope) -> list[Message]:
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        if scope["path"] == "/metrics" and not self.asks_for_token:
            await self.heart.probes.figures(keep)
        else:
            await self.heart(scope, _nothing_more, keep)
        return messages


async def is_probe(scope: Scope, send: Send) -> bool:
    """Return True if a request is for a probe. Refuse any other request."""
    if scope["path"] not in PROBES:
        await refuse(
            send, 404, "not_found", "Nothing is served at this address; available: /healthz, /readyz, /metrics"
        )
        return False
    if scope["method"] not in ("GET", "HEAD"):
        await not_allowed(send, b"GET, HEAD")
        return False
    return True


@asynccontextmanager
async def beating(clock: Clock) -> AsyncGenerator[Heartbeat]:
    """Run the heartbeat of the current event loop inside the block."""
    pulse = Heartbeat(clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pulse.beat)
        yield pulse
        tasks.cancel_scope.cancel()


@contextmanager
def serve_probe_port(probes: ListeningApp) -> Generator[None]:
    """Serve the probes in a thread with its own event loop inside the block."""
    is_ready = threading.Event()
    ending: list[tuple[asyncio.AbstractEventLoop, Shutdown]] = []

    async def serve() -> None:
        stop = Shutdown()
        ending.append((asyncio.get_running_loop(), stop))
        await serve_apps([probes], ready=is_ready.set, drain=_nothing, stop=stop)

    thread = threading.Thread(target=anyio.run, args=(serve,), name="probes", daemon=True)
    thread.start()
    is_ready.wait(_START_SECS)
    try:
        yield
    finally:
        for loop, stop in ending:
            loop.call_soon_threadsafe(stop.tell, signal.SIGINT)  # stop quickly, because probes take no time
        thread.join(_END_SECS)


async def _nothing() -> None:
    pass


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


@dataclass
class WorkerProbes:
    """Probes of all workers: alive if a worker has a recent heartbeat, ready if a worker is ready.

    Metrics of all workers.
    """

    workers: int
    lines: WorkerLines
    alive: Callable[[], int]
    asks_for_token: bool

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if not await is_probe(scope, send):
            return
        if scope["path"] == "/healthz":
            alive = self.alive()
            told = {"status": "ok" if alive else "no worker", "workers": self.workers, "alive": alive}
            await reply_json(send, json.dumps(told).encode(), status=200 if alive else 503)
        elif scope["path"] == "/readyz":
            await self._readyz(scope, send)
        else:
            await self._figures(scope, send)

    async def _readyz(self, scope: Scope, send: Send) -> None:
        answers = await self._ask_all(scope, until_one_is_ready=True)
        chosen = sorted(answers.values(), key=lambda answer: answer.status_code)
        await self._pass_on(chosen[0] if chosen else None, send)

    async def _figures(self, scope: Scope, send: Send) -> None:
        answers = await self._ask_all(scope)
        refused = [answer for answer in answers.values() if answer.status_code != 200]
        if refused or not answers:
            await self._pass_on(refused[0] if refused else None, send)
            return
        await reply_figures(send, merged({number: answers[number].text for number in sorted(answers)}).encode())

    async def _pass_on(self, answer: httpx2.Response | None, send: Send) -> None:
        if answer is None:
            await refuse(send, 503, "busy", "No worker has answered in time", headers=[(b"retry-after", b"1")])
            return
        challenge = answer.headers.get("www-authenticate", "").encode("latin-1")
        headers = [(b"www-authenticate", challenge)] if challenge else []
        await reply_json(send, answer.content, headers, status=answer.status_code)

    async def _ask_all(self, scope: Scope, *, until_one_is_ready: bool = False) -> dict[int, httpx2.Response]:
        """Ask all workers concurrently, so that a blocked worker does not delay the answers of other workers."""
        answers: dict[int, httpx2.Response] = {}

        async def ask(number: int) -> None:
            answer = await self._ask(number, scope)
            if answer is None:
                return
            answers[number] = answer
            if until_one_is_ready and answer.status_code == 200:
                asking.cancel_scope.cancel()

        async with anyio.create_task_group() as asking:
            for number in range(self.workers):
                asking.start_soon(ask, number)
        return answers

    async def _ask(self, number: int, scope: Scope) -> httpx2.Response | None:
        client, token = scope.get("client"), header(scope, b"authorization")
        caller = f"{scope.get('scheme', 'http')}  {client[0] if client else ''}" if self.asks_for_token else PROBED
        headers = {RELAYED_FOR.decode(): caller, **({"authorization": token} if token else {})}
        request = httpx2.Request("GET", f"http://worker{scope['path']}", headers=headers, extensions=dict(_PATIENCE))
        try:
            answer = await self.lines.to(number).handle_async_request(request)
            await answer.aread()
        except httpx2.TransportError:
            return None
        return answer
