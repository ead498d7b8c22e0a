"""HTTP client for any host, with a total deadline and a response size limit. Compression and redirects are off."""

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
# Limit in seconds for Retry-After. A longer wait may be a mistake or an attack.
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
    """Error of a request without a usable response.

    `sent`: the server may have acted on the request. `cut`: the connection broke. `answered`: the server sent a
    response that cannot be used. `by_proxy`: a proxy failed, so the server was not reached.
    """

    reason: str
    sent: bool
    cut: bool = False
    answered: bool = False
    by_proxy: bool = False

    def __str__(self) -> str:
        return self.reason


def count_in(headers: Mapping[str, str], name: str) -> int | None:
    """Read a whole number from a header. Return None if it is absent or has more than `LONGEST_COUNT` digits."""
    text = headers.get(name, "")
    return int(text) if len(text) <= LONGEST_COUNT and text.isascii() and text.isdecimal() else None


class _Shut(Exception):
    """Wrapper that hides a gate's exception from the HTTP transport.

    The transport would otherwise handle the exception.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


@dataclass(eq=False)
class _Passage:
    """State of a gate. A gate is a callback that runs once, before the first byte of a write.

    A second request is blocked.
    """

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
    """HTTP client that opens on first use, because its TLS context takes longer than the rest of the startup."""

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
        """Send one GET request and return the response.

        The deadline is `patience` times the channel's deadline, at most `longest_secs`.

        Raises:
            NoAnswer: the request failed, or the response is late, too large or compressed.
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
        """Send one POST request. Deadline and errors are those of `get`."""
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
        """Send one write on its own connection and return the response.

        `gate` is awaited when the connection is open, before the first byte is sent. If the gate raises, nothing is
        sent, and its exception is raised here.

        Raises:
            NoAnswer: the request failed; `sent` is True if the gate was passed.
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
        except Exception as error:  # noqa: BLE001 - `sent` depends on the gate, not on the kind of error
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
        # Never reuse an idle connection for a write, because a dead connection would leave the outcome unknown.
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
            # The library's timeouts apply to each read. A response that trickles in byte by byte would never reach
            # them.
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

        Call it before signing, because a signature can expire while a TLS context is created.
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
            # Load it in a thread, because the certificate file would block the event loop.
            self._tls = await anyio.to_thread.run_sync(client_context)
        # Use our proxy lookup instead of the library's, so that requests and streams have the same proxy.
        return httpx2.AsyncClient(transport=ProxiedTransport(self._proxies, self._tls, limits))

    @property
    def _tells_first_byte(self) -> bool:
        return self._transport is None or isinstance(self._transport, httpx2.AsyncHTTPTransport)

    async def close(self) -> None:
        for client in (self._client, self._writer):
            if client is not None:
                await client.aclose()


def _late(request: httpx2.Request | None, secs: float) -> NoAnswer:
    """Return the timeout error. Set `by_proxy` if the proxy used up the time."""
    tunnel = None if request is None else request.extensions.get(TUNNEL)
    if isinstance(tunnel, Tunnel) and not tunnel.is_used:
        return NoAnswer(str(tunnel.late(secs)), sent=False, by_proxy=True)
    return NoAnswer(f"no answer within {secs:g} s", sent=True)
