"""Probes of several processes on a port of their own: answered by the one that looks after them, for all of them."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import httpx2
from starlette.types import Receive, Scope, Send

from mcp_binance_server.transports.http.merged_figures import merged
from mcp_binance_server.transports.http.probe_port import PATIENCE_SECS, is_probe
from mcp_binance_server.transports.http.refusals import refuse
from mcp_binance_server.transports.http.relay import PROBED, RELAYED_FOR
from mcp_binance_server.transports.http.replies import reply_figures, reply_json
from mcp_binance_server.transports.http.seat import WorkerLines
from mcp_binance_server.transports.http.switchboard import header

_PATIENCE = {"timeout": dict.fromkeys(("connect", "write", "pool", "read"), PATIENCE_SECS)}


@dataclass
class CrewProbes:
    """Alive is a crew of which a worker was heard a moment ago, ready one of which a worker is; figures are of all."""

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
        """Ask all at once: one that is held must not make the others look so."""
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
