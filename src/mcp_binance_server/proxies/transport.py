"""HTTP transport with proxies. Errors state whether the proxy or the host has failed."""

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import httpx2

from mcp_binance_server.proxies.environment import (
    NEEDS_CREDENTIALS,
    OutgoingProxies,
    Proxy,
    ProxyFailure,
    explain_status,
)

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream

# The HTTP library's name for the event just before it sends the request headers. A test checks the name.
FIRST_BYTE = "http11.send_request_headers.started"
# Key of the request extension that holds the tunnel.
TUNNEL = "mcp_binance_server.tunnel"

Trace = Callable[[str, Mapping[str, Any]], Awaitable[None]]


def is_first_byte(event: str, told: Mapping[str, Any]) -> bool:
    """Return whether the request itself is about to be sent, and not the CONNECT request that opens a tunnel."""
    return event == FIRST_BYTE and told["request"].method != b"CONNECT"


@dataclass(eq=False)
class Tunnel:
    """Connection of one request through a proxy, until the first byte of the request."""

    proxy: Proxy
    host: str
    connect_secs: float
    scope: anyio.CancelScope
    inner: Trace | None = None
    is_reached: bool = False
    """Whether the proxy has accepted the connection."""
    stream: "AsyncNetworkStream | None" = None
    """The connection to the proxy."""
    is_open: bool = False
    """Whether the proxy has opened the tunnel to the host; TLS with the host can still fail."""
    is_used: bool = False
    """Whether the request itself has been started."""

    async def trace(self, event: str, told: Mapping[str, Any]) -> None:
        if event.endswith(".connect_tcp.started"):
            # Start the timeout only now, because a request can wait for a free connection.
            self.scope.deadline = anyio.current_time() + self.connect_secs
        elif event.endswith(".connect_tcp.complete"):
            self.is_reached, self.stream = True, told["return_value"]
        elif event in {"proxy.start_tls.started", "socks.start_tls.started"}:
            self.is_open = True
        elif is_first_byte(event, told):
            self.is_used, self.scope.deadline = True, float("inf")
        if self.inner is not None:
            await self.inner(event, told)

    async def close_unused(self) -> None:
        """Close the connection to a SOCKS proxy after a failure, because httpcore2 leaves it open."""
        if self.proxy.is_socks and self.stream is not None and not self.is_used:
            with anyio.CancelScope(shield=True):
                await self.stream.aclose()

    def late(self, secs: float) -> ProxyFailure:
        """Return the error for a timeout before the request was sent."""
        if not self.is_reached:
            return ProxyFailure(self.proxy, f"was not reached within {secs:g} s")
        return ProxyFailure(self.proxy, f"opened no connection to {self.host} within {secs:g} s")

    def failure(self, error: Exception) -> ProxyFailure:
        """Return the error for a failure before the request was sent."""
        kind = type(error).__name__
        if isinstance(error, httpx2.ProxyError):
            status = str(error)[:3]
            if status.isdecimal():
                return explain_status(self.proxy, int(status), self.host)
            return ProxyFailure(self.proxy, f"opens no connection to {self.host}: {str(error).rstrip('.')}")
        if self.is_open:
            return ProxyFailure(
                self.proxy,
                f"opened a tunnel, but TLS with {self.host} failed in it ({kind}); if it inspects traffic, "
                "set SSL_CERT_FILE to its certificate file",
            )
        if self.is_reached:
            return ProxyFailure(self.proxy, f"closed the connection before it was connected to {self.host} ({kind})")
        return ProxyFailure(self.proxy, f"cannot be reached ({kind}); check {self.proxy.variable}")


class ProxiedTransport(httpx2.AsyncBaseTransport):
    """Transport that sends a request directly or through the proxy for its address."""

    def __init__(self, proxies: OutgoingProxies, tls: ssl.SSLContext, limits: httpx2.Limits) -> None:
        self._proxies = proxies
        self._tls = tls
        self._limits = limits
        self._transports: dict[Proxy | None, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        proxy = self._proxies.of(str(request.url))
        transport = self._transport(proxy)
        if proxy is None:
            return await transport.handle_async_request(request)
        scope = anyio.CancelScope()
        tunnel = Tunnel(proxy, request.url.host, request.extensions["timeout"]["connect"], scope)
        with scope:
            return await self._tunnelled(transport, request, tunnel)
        raise tunnel.late(tunnel.connect_secs)

    async def _tunnelled(
        self, transport: httpx2.AsyncHTTPTransport, request: httpx2.Request, tunnel: Tunnel
    ) -> httpx2.Response:
        tunnel.inner = request.extensions.get("trace")
        request.extensions |= {"trace": tunnel.trace, TUNNEL: tunnel}
        try:
            response = await transport.handle_async_request(request)
        except httpx2.PoolTimeout:
            raise
        except Exception as error:
            await tunnel.close_unused()
            # Catch every error, because socksio raises its own for a truncated answer.
            if tunnel.is_used:
                raise
            raise tunnel.failure(error) from None
        except BaseException:
            await tunnel.close_unused()
            raise
        if response.status_code == NEEDS_CREDENTIALS:
            # A 407 must come from the proxy, because plain HTTP has no tunnel and servers never send this status.
            await response.aclose()
            raise explain_status(tunnel.proxy, response.status_code, tunnel.host)
        return response

    def _transport(self, proxy: Proxy | None) -> httpx2.AsyncHTTPTransport:
        if proxy not in self._transports:
            self._transports[proxy] = httpx2.AsyncHTTPTransport(
                verify=self._tls, limits=self._limits, proxy=None if proxy is None else self._handed(proxy)
            )
        return self._transports[proxy]

    def _handed(self, proxy: Proxy) -> httpx2.Proxy:
        tls = self._tls if proxy.scheme == "https" else None
        return httpx2.Proxy(proxy.address, ssl_context=tls, auth=proxy.credentials)

    async def aclose(self) -> None:
        for transport in self._transports.values():
            await transport.aclose()
