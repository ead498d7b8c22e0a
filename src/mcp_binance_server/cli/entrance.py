"""Where a server listens, and how it tells callers apart: the same for every transport that others can reach."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp_binance_server.channel import Channel
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import SCOPES
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import Settings
from mcp_binance_server.transports.addresses import is_loopback
from mcp_binance_server.transports.http.app import Entrance
from mcp_binance_server.transports.http.auth.authenticator import Open
from mcp_binance_server.transports.http.auth.metadata import resource_metadata
from mcp_binance_server.transports.http.auth.token_file import TokenFile

KEYS_SECS = 5.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens."""

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)


def refuse_strangers(settings: Settings, place: Place, *, unsafe: bool) -> None:
    """Make sure that callers are told apart wherever others than this machine's user can call."""
    if settings.token_file or settings.oauth_issuer or place.is_local or unsafe:
        return
    raise SettingsError(
        problems=(
            f"--host {place.host}: others can reach this address, and nobody would be asked who they are. Set "
            "MCP_BINANCE_TOKEN_FILE or MCP_BINANCE_OAUTH_ISSUER, or say --unsafe-no-auth if something in front of "
            "this server asks them",
        )
    )


def lends_own_key(settings: Settings, place: Place) -> bool:
    """Tell whether callers without a key read the account of this process's own.

    A token of ours is given to a friend; an issuer's users, and strangers, are not the owners of this key.
    """
    return settings.oauth_issuer is None and (place.is_local or settings.token_file is not None)


@asynccontextmanager
async def entrance_of(settings: Settings, clock: Clock) -> AsyncGenerator[Entrance]:
    """Open the entrance that the settings ask for: everybody's, by our own tokens, or by an issuer's.

    Raises:
        SettingsError: the tokens or the issuer cannot be used.
    """
    if settings.token_file is not None:
        yield Entrance(TokenFile(settings.token_file, clock))
    elif settings.oauth_issuer is not None and settings.public_url is not None:
        from mcp_binance_server.transports.http.auth.oauth import OAuth  # noqa: PLC0415 - loads a JWT library
        from mcp_binance_server.transports.http.auth.trust import Trust  # noqa: PLC0415 - likewise

        resource, issuer = settings.public_url, settings.oauth_issuer
        channel = Channel(deadline_secs=KEYS_SECS)
        oauth = OAuth(Trust(issuer, resource, settings.oauth_jwks_url), channel, clock)
        try:
            yield Entrance(oauth, resource_metadata(resource, issuer, SCOPES - {"trade"}), resource)
        finally:
            await oauth.close()
            await channel.close()
    else:
        yield Entrance(Open())
