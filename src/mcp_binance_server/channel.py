"""One HTTP exchange: a total deadline, no compression, no redirects, a cap on the body. Knows nobody it talks to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

import anyio
import anyio.to_thread
import httpx2

NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
CONNECT_SECS = 3.0
# Whoever asks for a longer pause is asked again after this: the longest may be a mistake, or meant to do harm.
LONGEST_RETRY_AFTER_SECS = 600
LONGEST_COUNT = 12
MOST_CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(eq=False)
class NoAnswer(Exception):
    """Nothing usable came back; `sent` says whether the other side may have acted on it, `cut` that the line broke.

    With `answered` the other side is well: only what it said cannot be used.
    """

    reason: str
    sent: bool
    cut: bool = False
    answered: bool = False

    def __str__(self) -> str:
        return self.reason


def count_in(headers: Mapping[str, str], name: str) -> int | None:
    """Read a whole number from a header; None if there is none, or one with more digits than anybody means."""
    text = headers.get(name, "")
    return int(text) if len(text) <= LONGEST_COUNT and text.isascii() and text.isdecimal() else None


class Channel:
    """Sends requests; opened on first use, because a TLS context costs more than the rest of a start."""

    def __init__(self, *, deadline_secs: float, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._deadline_secs = deadline_secs
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None
        self._opening = anyio.Lock()

    async def get(
        self, url: str, headers: Mapping[str, str], *, body_cap: int, patience: int = 1, longest_secs: float = inf
    ) -> HttpAnswer:
        """Send one GET and read its answer, within the deadline or `patience` times as long; `longest_secs` beats both.

        Raises:
            NoAnswer: refused, cut, late, too large or compressed.
        """
        deadline_secs = min(longest_secs, self._deadline_secs * patience)
        return await self._send(await self._request("GET", url, headers, deadline_secs), body_cap, deadline_secs)

    async def post(
        self,
        url: str,
        headers: Mapping[str, str],
        content: bytes,
        *,
        body_cap: int,
        patience: int = 1,
        longest_secs: float = inf,
    ) -> HttpAnswer:
        """Send one POST, as `get` does a GET."""
        deadline_secs = min(longest_secs, self._deadline_secs * patience)
        request = await self._request("POST", url, headers, deadline_secs, content)
        return await self._send(request, body_cap, deadline_secs)

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], deadline_secs: float, content: bytes | None = None
    ) -> httpx2.Request:
        sent_headers = {**headers, "Accept-Encoding": "identity"}
        timeout = httpx2.Timeout(deadline_secs, connect=min(CONNECT_SECS, deadline_secs))
        return (await self._opened()).build_request(method, url, headers=sent_headers, content=content, timeout=timeout)

    async def _send(self, request: httpx2.Request, body_cap: int, deadline_secs: float) -> HttpAnswer:
        try:
            # The client's own time-outs are per operation: a body dripping one byte at a time never meets them.
            with anyio.fail_after(deadline_secs):
                return await self._exchange(request, body_cap)
        except NOT_SENT as error:
            raise NoAnswer(f"not sent: {type(error).__name__}", sent=False) from None
        except TimeoutError:
            raise NoAnswer(f"no answer within {deadline_secs:g} s", sent=True) from None
        except httpx2.TimeoutException as error:
            raise NoAnswer(f"connection failed: {type(error).__name__}", sent=True) from None
        except httpx2.TransportError as error:
            raise NoAnswer(f"connection failed: {type(error).__name__}", sent=True, cut=True) from None

    async def _exchange(self, request: httpx2.Request, body_cap: int) -> HttpAnswer:
        response = await (await self._opened()).send(request, stream=True)
        try:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise NoAnswer("the answer is compressed although none was asked for", sent=True, answered=True)
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > body_cap:
                    raise NoAnswer(f"the answer is larger than {body_cap} bytes", sent=True, answered=True)
            return HttpAnswer(response.status_code, response.headers, bytes(body))
        finally:
            await response.aclose()

    async def _opened(self) -> httpx2.AsyncClient:
        if self._client is not None:
            return self._client
        if self._transport is not None:
            self._client = self._made()
            return self._client
        async with self._opening:
            if self._client is None:
                # A TLS context reads a file of certificates, which takes longer than others should wait.
                self._client = await anyio.to_thread.run_sync(self._made)
        return self._client

    def _made(self) -> httpx2.AsyncClient:
        limits = httpx2.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=16, keepalive_expiry=30)
        return httpx2.AsyncClient(transport=self._transport, limits=limits)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
