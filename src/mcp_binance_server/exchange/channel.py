"""One HTTP exchange: a total deadline, no compression, a cap on the body. Knows nothing of Binance."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio
import httpx2

NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
CONNECT_SECS = 3.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(eq=False)
class NoAnswer(Exception):
    """Nothing usable came back; `sent` says whether the other side may have acted on it."""

    reason: str
    sent: bool

    def __str__(self) -> str:
        return self.reason


class Channel:
    """Sends requests; opened on first use, because a TLS context costs more than the rest of a start."""

    def __init__(self, *, deadline_secs: float, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._deadline_secs = deadline_secs
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None

    async def get(self, url: str, headers: Mapping[str, str], *, body_cap: int, patience: int = 1) -> Answer:
        """Send one GET and read its answer, within the deadline or `patience` times as long.

        Raises:
            NoAnswer: refused, cut, late, too large or compressed.
        """
        deadline_secs = self._deadline_secs * patience
        try:
            # The client's own time-outs are per operation: a body dripping one byte at a time never meets them.
            with anyio.fail_after(deadline_secs):
                return await self._exchange(url, headers, body_cap)
        except NOT_SENT as error:
            raise NoAnswer(f"not sent: {type(error).__name__}", sent=False) from None
        except TimeoutError:
            raise NoAnswer(f"no answer within {deadline_secs:g} s", sent=True) from None
        except httpx2.TransportError as error:
            raise NoAnswer(f"connection failed: {type(error).__name__}", sent=True) from None

    async def _exchange(self, url: str, headers: Mapping[str, str], body_cap: int) -> Answer:
        sent_headers = {**headers, "Accept-Encoding": "identity"}
        async with self._open().stream("GET", url, headers=sent_headers) as response:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise NoAnswer("the answer is compressed although none was asked for", sent=True)
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > body_cap:
                    raise NoAnswer(f"the answer is larger than {body_cap} bytes", sent=True)
            return Answer(response.status_code, response.headers, bytes(body))

    def _open(self) -> httpx2.AsyncClient:
        if self._client is None:
            limits = httpx2.Limits(max_connections=32, max_keepalive_connections=16, keepalive_expiry=30)
            timeout = httpx2.Timeout(self._deadline_secs, connect=min(CONNECT_SECS, self._deadline_secs))
            self._client = httpx2.AsyncClient(transport=self._transport, limits=limits, timeout=timeout)
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
