"""Address and authentication, shared by all network transports."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp_binance_server.channel import Channel
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import SCOPES
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import Settings
from mcp_binance_server.transports.arrival import Certificate, is_loopback
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.auth.authenticator import Open
from mcp_binance_server.transports.http.auth.token_file import TokenFile
from mcp_binance_server.transports.http.auth.trust import resource_metadata

KEYS_SECS = 5.0


@dataclass(frozen=True, slots=True)
class ListenOn:
    """Address and options of a listening server."""

    host: str
    port: int
    certificate: Certificate | None = None
    """Certificate for TLS by the server itself."""
    probe_port: int | None = None
    """Second port for probes, served by a thread of its own."""

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)


def refuse_strangers(settings: Settings, place: ListenOn, *, unsafe: bool) -> None:
    """Refuse a network address without authentication.

    Raises:
        SettingsError: other machines can connect and callers are not authenticated.
    """
    _refuse_to_expose_the_key(settings, place)
    if settings.token_file or settings.oauth_issuer or place.is_local or unsafe:
        return
    raise SettingsError(
        problems=(
            f"--host {place.host}: other machines can reach this address, and callers are not authenticated. Set "
            "MCP_BINANCE_TOKEN_FILE or MCP_BINANCE_OAUTH_ISSUER, or add --unsafe-no-auth if a proxy in front of this "
            "server authenticates callers",
        )
    )


def shares_server_key(settings: Settings) -> bool:
    """Return whether callers without a key can read the account of the server's key.

    Each call is checked as well. Holders of this server's tokens are trusted with the account. Users of an OAuth issuer
    are not.
    """
    return settings.oauth_issuer is None


@asynccontextmanager
async def authentication_of(settings: Settings, clock: Clock) -> AsyncGenerator[Authentication]:
    """Open the configured authentication: none, tokens of this server, or an OAuth issuer.

    Raises:
        SettingsError: the tokens or the issuer cannot be used.
    """
    if settings.token_file is not None:
        yield Authentication(TokenFile(settings.token_file, clock))
    elif settings.oauth_issuer is not None and settings.public_url is not None:
        from mcp_binance_server.transports.http.auth.oauth import OAuth  # noqa: PLC0415 - loads a JWT library
        from mcp_binance_server.transports.http.auth.trust import Trust  # noqa: PLC0415 - as above

        resource, issuer = settings.public_url, settings.oauth_issuer
        channel = Channel(deadline_secs=KEYS_SECS, proxies=settings.proxies)
        oauth = OAuth(Trust(issuer, resource, settings.oauth_jwks_url), channel, clock)
        try:
            yield Authentication(oauth, resource_metadata(resource, issuer, SCOPES - {"trade"}), resource)
        finally:
            await oauth.close()
            await channel.close()
    else:
        yield Authentication(Open())


def _refuse_to_expose_the_key(settings: Settings, place: ListenOn) -> None:
    # This also applies behind an authenticating proxy, because the server cannot distinguish the operator from other
    # callers.
    if settings.api_key is None or settings.token_file or settings.oauth_issuer:
        return
    if settings.trusted_proxies:
        beyond = "MCP_BINANCE_TRUSTED_PROXIES is set, so requests come through a proxy"
    elif not place.is_local:
        beyond = f"--host {place.host} can be reached from other machines"
    else:
        return
    key = "BINANCE_API_KEY" if settings.key_file is None else f"the key in {settings.key_file}"
    raise SettingsError(
        problems=(
            f"{beyond}, and callers are not authenticated, while {key} gives access to your account. Set "
            "MCP_BINANCE_TOKEN_FILE (mcp-binance-server token new NAME --file FILE) or MCP_BINANCE_OAUTH_ISSUER, or "
            "start without the key",
        )
    )
