"""HTTP requests with a total deadline, without compression and redirects, and with a cap on the body; for any host."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.to_thread
import httpx2

from mcp_binance_server.proxies.environment import OutgoingProxies, ProxyFailure
from mcp_binance_server.proxies.transport import TUNNEL, ProxiedTransport, Tunnel, is_first_byte
from mcp_binance_server.tls.trust_store import client_context

if TYPE_CHECKING:
    import ssl

LOG = logging.getLogger(__name__)

NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
CONNECT_SECS = 3.0
# Longest wait in seconds after a Retry-After; a longer value can be a mistake or an attack.
LONGEST_RETRY_AFTER_SECS = 600
LONGEST_COUNT = 12
MOST_CONNECTIONS = 32
WRITE_SECS = 15.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A complete response."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(eq=False)
class NoAnswer(Exception):
    """A request without a usable response.

    `sent` is True if the other side may have acted on the request, `cut` if the connection broke. With `answered` the
    other side works, but its response cannot be used. With `by_proxy` the other side was never reached.
    """

    reason: str
    sent: bool
    cut: bool = False
    answered: bool = False
    by_proxy: bool = False

    def __str__(self) -> str:
        return self.reason


def count_in(headers: Mapping[str, str], name: str) -> int | None:
    """Read a whole number from a header; None if it is absent or has more than `LONGEST_COUNT` digits."""
    text = headers.get(name, "")
    return int(text) if len(text) <= LONGEST_COUNT and text.isascii() and text.isdecimal() else None


class _Shut(Exception):
    """Carrier of a gate's exception past the transport's own error handling."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


@dataclass(eq=False)
class _Passage:
    """A gate between the connection and the first byte of the only request that can leave."""

    gate: Callable[[], Awaitable[None]]
    passed: bool = False
    request: httpx2.Request | None = None

    async def trace(self, event: str, told: Mapping[str, Any]) -> None:
        if is_first_byte(event, told):
            await self.pass_gate()

    async def pass_gate(self) -> None:
        if self.passed:
            raise _Shut(NoAnswer("a second request was blocked", sent=True))
        try:
            await self.gate()
        except Exception as error:
            raise _Shut(error) from error
        self.passed = True


class Channel:
    """An HTTP client, opened on first use: its TLS context costs more than the rest of the start."""

    def __init__(
        self,
        *,
        deadline_secs: float,
        transport: httpx2.AsyncBaseTransport | None = None,
        proxies: OutgoingProxies | None = None,
    ) -> None:
        self._deadline_secs = deadline_secs
        self._transport = transport
        self._proxies = proxies or OutgoingProxies()
        self._client: httpx2.AsyncClient | None = None
        self._writer: httpx2.AsyncClient | None = None
        self._tls: ssl.SSLContext | None = None
        self._opening = anyio.Lock()

    async def get(
        self, url: str, headers: Mapping[str, str], *, body_cap: int, patience: int = 1, longest_secs: float = inf
    ) -> HttpAnswer:
        """Send one GET and read its response.

        The deadline is the channel's, times `patience`, and at most `longest_secs`.

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
        """Send one POST; see `get` for the deadline and errors."""
        deadline_secs = min(longest_secs, self._deadline_secs * patience)
        request = await self._request("POST", url, headers, deadline_secs, content)
        return await self._send(request, body_cap, deadline_secs)

    async def write(
        self,
        method: Literal["POST", "PUT", "DELETE"],
        url: str,
        headers: Mapping[str, str],
        gate: Callable[[], Awaitable[None]],
        *,
        body_cap: int,
        longest_secs: float = WRITE_SECS,
    ) -> HttpAnswer:
        """Send one request that changes something, on its own connection, and read its response.

        `gate` is awaited when the connection is open and before the first byte is sent. An exception of `gate` is
        raised here; then nothing was sent.

        Raises:
            NoAnswer: for every failure; `sent` is True if the gate was passed.
        """
        passage = _Passage(gate)
        try:
            with anyio.fail_after(longest_secs):
                return await self._write(method, url, headers, passage, body_cap, longest_secs)
        except _Shut as shut:
            raise shut.error from None
        except NoAnswer as failure:
            failure.sent = failure.sent or passage.passed
            raise
        except ProxyFailure as failure:
            raise NoAnswer(str(failure), sent=passage.passed, by_proxy=True) from None
        except TimeoutError:
            late = _late(passage.request, longest_secs)
            late.sent = passage.passed
            raise late from None
        except Exception as error:  # noqa: BLE001 - the gate decides `sent`, not the kind of error
            what = "connection failed" if passage.passed else "not sent"
            raise NoAnswer(f"{what}: {type(error).__name__}", sent=passage.passed, cut=passage.passed) from None

    async def _write(  # noqa: PLR0917
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        passage: _Passage,
        body_cap: int,
        longest_secs: float,
    ) -> HttpAnswer:
        client = await self.prepare_writes()
        # An idle connection can be dead without notice; the outcome of a write on it would be unknown.
        sent_headers = {**headers, "Accept-Encoding": "identity", "Connection": "close"}
        timeout = httpx2.Timeout(longest_secs, connect=min(CONNECT_SECS, longest_secs))
        traced = {"trace": passage.trace}
        request = client.build_request(method, url, headers=sent_headers, timeout=timeout, extensions=traced)
        passage.request = request
        if not self._tells_first_byte:
            await passage.pass_gate()
        answer = await self._exchange(client, request, body_cap)
        if not passage.passed:
            LOG.error("a request was answered without passing the send gate: the HTTP transport has changed")
            raise NoAnswer("an answer to a request that did not pass the send gate", sent=True, answered=True)
        return answer

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], deadline_secs: float, content: bytes | None = None
    ) -> httpx2.Request:
        sent_headers = {**headers, "Accept-Encoding": "identity"}
        timeout = httpx2.Timeout(deadline_secs, connect=min(CONNECT_SECS, deadline_secs))
        return (await self._opened()).build_request(method, url, headers=sent_headers, content=content, timeout=timeout)

    async def _send(self, request: httpx2.Request, body_cap: int, deadline_secs: float) -> HttpAnswer:
        try:
            # The client's own timeouts are per operation: a body that drips one byte at a time never reaches them.
            with anyio.fail_after(deadline_secs):
                return await self._exchange(await self._opened(), request, body_cap)
        except NOT_SENT as error:
            raise NoAnswer(f"not sent: {type(error).__name__}", sent=False) from None
        except ProxyFailure as failure:
            raise NoAnswer(str(failure), sent=False, by_proxy=True) from None
        except TimeoutError:
            raise _late(request, deadline_secs) from None
        except httpx2.TimeoutException as error:
            raise NoAnswer(f"connection failed: {type(error).__name__}", sent=True) from None
        except httpx2.TransportError as error:
            raise NoAnswer(f"connection failed: {type(error).__name__}", sent=True, cut=True) from None

    async def _exchange(self, client: httpx2.AsyncClient, request: httpx2.Request, body_cap: int) -> HttpAnswer:
        response = await client.send(request, stream=True)
        try:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise NoAnswer("the answer is compressed, which was not requested", sent=True, answered=True)
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > body_cap:
                    raise NoAnswer(f"the answer is larger than {body_cap} bytes", sent=True, answered=True)
            return HttpAnswer(response.status_code, response.headers, bytes(body))
        finally:
            await response.aclose()

    async def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            async with self._opening:
                self._client = self._client or await self._made(idle=16)
        return self._client

    async def prepare_writes(self) -> httpx2.AsyncClient:
        """Open the client that all writes share.

        Call it before a request is signed: creating a TLS context can outlast a signature.
        """
        if self._writer is None:
            async with self._opening:
                self._writer = self._writer or await self._made(idle=0)
        return self._writer

    async def _made(self, *, idle: int) -> httpx2.AsyncClient:
        limits = httpx2.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=idle, keepalive_expiry=30)
        if self._transport is not None:
            return httpx2.AsyncClient(transport=self._transport, limits=limits)
        if self._tls is None:
            # Loading the certificate file takes too long for the event loop.
            self._tls = await anyio.to_thread.run_sync(client_context)
        # Not the library's own environment lookup: requests must use the same proxy as streams.
        return httpx2.AsyncClient(transport=ProxiedTransport(self._proxies, self._tls, limits))

    @property
    def _tells_first_byte(self) -> bool:
        return self._transport is None or isinstance(self._transport, httpx2.AsyncHTTPTransport)

    async def close(self) -> None:
        for client in (self._client, self._writer):
            if client is not None:
                await client.aclose()


def _late(request: httpx2.Request | None, secs: float) -> NoAnswer:
    """Return the timeout error; `by_proxy` is set if a proxy's tunnel used up the time."""
    tunnel = None if request is None else request.extensions.get(TUNNEL)
    if isinstance(tunnel, Tunnel) and not tunnel.is_used:
        return NoAnswer(str(tunnel.late(secs)), sent=False, by_proxy=True)
    return NoAnswer(f"no answer within {secs:g} s", sent=True)
