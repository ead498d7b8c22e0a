"""Clients that want to be told: a page's changes on a stream, in a session and without one."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from mcp_binance_server.clock import SystemClock
from support.chaos.clients import AGAIN_MS, HANG_SECS, ModestClient, OurError, SessionOver, result_of
from support.webapp import ENVELOPE, MODERN, request

CLOCK = SystemClock()
PAGE = "binance://market/btcusdt"
EVENTS = {"accept": "application/json, text/event-stream"}
# A stream that says nothing at all for so long, not even that it is there, is as bad as a request without an answer.
SILENT = httpx2.Timeout(HANG_SECS)


@dataclass(eq=False)
class PageListener(ModestClient):
    """One client with a stream; whatever ends it, it opens another."""

    heard_ms: float = 0.0

    async def live(self) -> None:
        async with self.connected() as http:
            while True:
                async with self.judged("stream"), self._stream(http) as response:
                    if not response.headers.get("content-type", "").startswith("text/event-stream"):
                        await response.aread()
                        result_of(response, None)
                    async for line in response.aiter_lines():
                        if line.startswith("data:"):
                            self._hear(json.loads(line[5:]))
                    raise OurError("stream ended")
                await CLOCK.sleep_ms(AGAIN_MS)

    @asynccontextmanager
    async def _stream(self, http: httpx2.AsyncClient) -> AsyncGenerator[httpx2.Response]:
        if self.has_session:
            await self.in_session(http, "resources/subscribe", {"uri": PAGE})
            named = {"accept": "text/event-stream", "mcp-session-id": await self.opened(http)}
            opening = http.stream("GET", "/mcp", headers=named, timeout=SILENT)
        else:
            params: dict[str, Any] = {"notifications": {"resourceSubscriptions": [PAGE]}, "_meta": ENVELOPE}
            named = {**EVENTS, "mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
            message = request("subscriptions/listen", params, f"listener {self.number}")
            opening = http.stream("POST", "/mcp", json=message, headers=named, timeout=SILENT)
        async with opening as response:
            if response.status_code == 404 and self.has_session:
                self.lose_session()
                raise SessionOver
            yield response

    def _hear(self, message: dict[str, Any]) -> None:
        if message.get("method") == "notifications/resources/updated":
            self.heard_ms = CLOCK.monotonic_ms()
            self.fleet.tally.heard += 1
            self.fleet.tally.current.good += 1
