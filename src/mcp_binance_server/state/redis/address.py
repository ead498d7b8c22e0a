"""Where the state server is and how to talk to it; the password stays inside."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis.asyncio import Connection
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.state.redis.wire import Greet, RedisWire

# Anything else in the address could undo the settings below, certificate checks included.
OPTIONS = frozenset({"db", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile"})
SCHEMES = ("redis", "rediss", "unix")


@dataclass(frozen=True, slots=True)
class StateAddress:
    """A server's address, parsed and shown without user and password."""

    shown: str
    _settings: dict[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, url: str) -> "StateAddress":
        """Read redis://, rediss:// or unix://.

        Raises:
            SettingsError: it is none of them, or asks for what we do not do; the message never holds the address.
        """
        try:
            split = urlsplit(url)
            strange = sorted(set(parse_qs(split.query, keep_blank_values=True)) - OPTIONS)
            host = f"{split.hostname}:{split.port or 6379}" if split.scheme != "unix" else ""
            settings: dict[str, Any] = dict(parse_url(url))
        except ValueError:
            # The library's message may hold the password.
            raise _unusable("is not an address of the form redis://host:port") from None
        if split.scheme not in SCHEMES:
            raise _unusable("must start with redis://, rediss:// or unix://")
        if strange:
            raise _unusable(f"only the options {', '.join(sorted(OPTIONS))} are known")
        return cls(f"{split.scheme}://{host or split.path}", settings)

    def connection(self, greet: Greet) -> RedisWire:
        """Make a connection that is not open yet; it greets the server as soon as it is."""
        settings = dict(self._settings)
        kind = settings.pop("connection_class", Connection)
        if self.shown.startswith("rediss:"):
            settings |= {"ssl_cert_reqs": "required", "ssl_check_hostname": True}
        # No time-outs and no retries of its own: every call has one deadline for all of it, in link.py.
        return kind(
            **settings,
            protocol=2,
            socket_timeout=None,
            socket_connect_timeout=None,
            retry=Retry(NoBackoff(), 0),
            client_name="mcp-binance-server",
            driver_info=None,
            redis_connect_func=greet,
        )


def _unusable(problem: str) -> SettingsError:
    return SettingsError(problems=(f"MCP_BINANCE_STATE_URL: {problem}",))
