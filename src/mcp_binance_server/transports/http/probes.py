"""Is it alive, can it work, and how much: the addresses that machines ask."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from starlette.types import Send

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.telemetry.metrics import Gauges, Metrics
from mcp_binance_server.transports.http.mcp.exchange import reply_figures, reply_json

Check = Callable[[], Awaitable[object]]
CHECK_SECS = 1.0
# A balancer asks every second or two; the exchange should not hear of each time. Bad news is looked at again sooner.
UPSTREAM_KEPT_MS, TROUBLE_KEPT_MS = 10_000, 1_000
RATE_LIMITED = RateLimited.error_type


@dataclass
class Probes:
    """Health for whoever restarts us, readiness for whoever sends us work, figures for whoever watches."""

    clock: Clock
    metrics: Metrics
    engine: Check
    upstream: Check
    moment: Callable[[], Awaitable[Gauges]]
    draining: bool = False
    _upstream_said: str = field(default="", init=False)
    _upstream_asked_ms: float = field(default=float("-inf"), init=False)

    async def healthz(self, send: Send) -> None:
        await reply_json(send, b'{"status":"ok"}')

    async def readyz(self, send: Send) -> None:
        """Say whether requests can be answered; a market that is not there makes most of them fail.

        One whose limit is met is there: what is kept or streamed is served, and every other answer says how long to
        wait. Sending the callers elsewhere would not help them, since a limit belongs to the address.
        """
        found = {"engine": await _outcome(self.engine), "upstream": await self._upstream()}
        is_ready = not self.draining and found["engine"] == "ok" and found["upstream"] in {"ok", RATE_LIMITED}
        status = "ready" if is_ready else "draining" if self.draining else "not ready"
        body = json.dumps({"status": status, **found}).encode()
        await reply_json(send, body, status=200 if is_ready else 503)

    async def figures(self, send: Send) -> None:
        await reply_figures(send, self.metrics.text(await self.moment()))

    async def _upstream(self) -> str:
        now = self.clock.monotonic_ms()
        kept_ms = UPSTREAM_KEPT_MS if self._upstream_said == "ok" else TROUBLE_KEPT_MS
        if now - self._upstream_asked_ms >= kept_ms:
            self._upstream_asked_ms = now
            self._upstream_said = await _outcome(self.upstream)
        return self._upstream_said


async def _outcome(check: Check) -> str:
    with anyio.move_on_after(CHECK_SECS):
        try:
            await check()
        except AppError as error:
            return error.error_type
        return "ok"
    return "timeout"
