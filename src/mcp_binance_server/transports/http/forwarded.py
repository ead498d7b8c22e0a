"""How a request came, and from whom: noted before anything looks at it.

Who is behind a proxy that we trust is what the proxy says; from anybody else these headers are only talk.
"""

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_binance_server.transports.arrival import PROTO, Arrival, Proxies

ARRIVAL = "mcp_binance_server.arrival"
"""Where it is left in the scope of a request."""


class Forwarded:
    """Puts how a request arrived into its scope, and who sent it, if a trusted proxy says so."""

    def __init__(self, app: ASGIApp, proxies: Proxies) -> None:
        self._app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._note(scope)
        await self._app(scope, receive, send)

    def _note(self, scope: Scope) -> None:
        client = scope.get("client")
        peer = client[0] if client else None
        scope[ARRIVAL] = self._proxies.arrival(
            peer,
            scope["headers"],
            is_tls=scope.get("scheme") == "https",
            # No MCP client speaks HTTP/1.0. nginx does, to whatever it passes requests on to, and may say nothing else.
            is_relayed=scope.get("http_version") == "1.0",
        )
        if peer is not None and self._proxies.trusts(peer):
            headers = dict(scope["headers"])
            scope["client"] = (self._origin(headers.get(b"x-forwarded-for", b""), peer), 0)
            if headers.get(PROTO, b"").strip().lower() == b"https":
                scope["scheme"] = "https"

    def _origin(self, hops: bytes, proxy: str) -> str:
        """Return the last hop that is no proxy of ours: what stands before it is the caller's own claim."""
        named = [hop.strip() for hop in hops.decode("latin-1").split(",") if hop.strip()]
        return next((hop for hop in reversed(named) if not self._proxies.trusts(hop)), named[0] if named else proxy)


def arrival_of(scope: Scope) -> Arrival:
    """Return how a request came; one that nobody has looked at is trusted with nothing."""
    return scope.get(ARRIVAL, Arrival.READABLE)
