"""Who is behind a proxy that we trust; from anybody else these headers are only talk."""

from collections.abc import Iterable
from ipaddress import ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_binance_server.errors import SettingsError, echo


class Forwarded:
    """Puts the caller's own address and scheme into the scope of a request that came through a trusted proxy."""

    def __init__(self, app: ASGIApp, trusted: Iterable[str]) -> None:
        """Take addresses or networks.

        Raises:
            SettingsError: one of them is neither.
        """
        self._app = app
        try:
            self._trusted = [ip_network(each, strict=False) for each in trusted]
        except ValueError as error:
            raise SettingsError(problems=(f"MCP_BINANCE_TRUSTED_PROXIES: {echo(str(error))}",)) from None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client is not None and self._is_trusted(client[0]):
            headers = dict(scope["headers"])
            scope["client"] = (self._origin(headers.get(b"x-forwarded-for", b""), client[0]), 0)
            if headers.get(b"x-forwarded-proto", b"").strip().lower() == b"https":
                scope["scheme"] = "https"
        await self._app(scope, receive, send)

    def _origin(self, hops: bytes, proxy: str) -> str:
        """Return the last hop that is no proxy of ours: what stands before it is the caller's own claim."""
        named = [hop.strip() for hop in hops.decode("latin-1").split(",") if hop.strip()]
        return next((hop for hop in reversed(named) if not self._is_trusted(hop)), named[0] if named else proxy)

    def _is_trusted(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._trusted)
