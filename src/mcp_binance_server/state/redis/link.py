"""Connection to Redis or Valkey, and its address."""

import asyncio
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis.asyncio import Connection
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import EngineUnavailable, SettingsError
from mcp_binance_server.state.redis.keys import Greet, RedisWire, Reply, Script, Word

# Any other option in the address could undo the settings below, such as certificate checks.
TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
OPTIONS = frozenset({"db", *TLS_FILES})
SCHEMES = ("redis", "rediss", "unix")

LOG = logging.getLogger(__name__)

# Deadline of a call in seconds. The contract allows one second; the rest is for a busy event loop.
CALL_SECS = 0.8
# Most idle connections to keep. One process needs only a few, but each new connection costs time when many calls come
# at once.
MAX_CONNECTIONS = 16
# Number of failures in a row after which calls fail at once, until the heartbeat reaches the server again.
FAILURES = 3
COMPLAIN_EVERY_MS = 10_000
TROUBLES = (RedisError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True)
class StateAddress:
    """Parsed address of a server. `shown` omits the user and the password."""

    shown: str
    _settings: dict[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, url: str) -> "StateAddress":
        """Parse a redis://, rediss:// or unix:// address.

        Raises:
            SettingsError: another scheme or an unknown option; the message never contains the address.
        """
        try:
            split = urlsplit(url)
            strange = sorted(set(parse_qs(split.query, keep_blank_values=True)) - OPTIONS)
            host = f"{split.hostname}:{split.port or 6379}" if split.scheme != "unix" else ""
            settings: dict[str, Any] = dict(parse_url(url))
        except ValueError:
            # The library's message can contain the password.
            raise _unusable("is not an address of the form redis://host:port") from None
        if split.scheme not in SCHEMES:
            raise _unusable("must start with redis://, rediss:// or unix://")
        if strange:
            raise _unusable(f"only the options {', '.join(sorted(OPTIONS))} are known")
        return cls(f"{split.scheme}://{host or split.path}", settings)

    def check_files(self) -> None:
        """Open each TLS file that the address names.

        Raises:
            SettingsError: a file cannot be read.
        """
        for option in TLS_FILES:
            if file := self._settings.get(option):
                _require_readable(option, Path(file))

    def connection(self, greet: Greet) -> RedisWire:
        """Create a connection that is not open yet. Once open, it first greets the server."""
        settings = dict(self._settings)
        kind = settings.pop("connection_class", Connection)
        if self.shown.startswith("rediss:"):
            settings |= {"ssl_cert_reqs": "required", "ssl_check_hostname": True}
        # The library's timeouts and retries are off, because every call has one total deadline in this module.
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


def _require_readable(option: str, file: Path) -> None:
    try:
        file.open("rb").close()
    except OSError as error:
        raise _unusable(f"{option}: {file}: {error.strerror}") from None


def _unusable(problem: str) -> SettingsError:
    return SettingsError(problems=(f"MCP_BINANCE_STATE_URL: {problem}",))


class Link:
    """A client with a few connections. A connection is closed if a call on it was interrupted."""

    def __init__(
        self,
        address: StateAddress,
        clock: Clock,
        greet: Greet,
        *,
        max_connections: int = MAX_CONNECTIONS,
        call_secs: float = CALL_SECS,
    ) -> None:
        self.call_secs = call_secs
        self._address = address
        self._clock = clock
        self._greet = greet
        self._idle: list[RedisWire] = []
        self._room = asyncio.Semaphore(max_connections)
        self._failures = 0
        self._complained: dict[str, float] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"Link({self._address.shown})"

    @property
    def lost(self) -> bool:
        """Whether calls fail at once, because the last calls failed."""
        return self._failures >= FAILURES

    async def run(self, operation: str, script: Script, keys: tuple[str, ...], *words: Word) -> Reply:
        """Run a script. The script's text is sent only to a server that does not have it yet.

        Raises: EngineUnavailable: no good reply within the deadline, for any reason.
        """
        return await self.call(operation, "EVALSHA", script.sha, len(keys), *keys, *words, script=script)

    async def call(self, operation: str, *command: Word, script: Script | None = None, probe: bool = False) -> Reply:
        """Send one command and return its reply. While the server is lost, only a probe is sent.

        Raises:
            EngineUnavailable: no good reply within the deadline, for any reason.
        """
        if self._closed or (self._failures >= FAILURES and not probe):
            raise EngineUnavailable(operation=operation)
        try:
            async with asyncio.timeout(self.call_secs), self._room:
                try:
                    reply = await self._exchange(command)
                except NoScriptError:
                    if script is None:
                        raise
                    reply = await self._exchange(("EVAL", script.text, *command[2:]))
                except ReadOnlyError:
                    # The server is no longer the primary, so close the other connections to it too.
                    await self._drop_idle()
                    raise
        except TROUBLES as error:
            raise self._failed(operation, error) from None
        if self._failures and (probe or not self.lost):
            self._recovered()
        return reply

    async def dial(self) -> RedisWire:
        """Open a connection that the caller keeps and closes."""
        connection = self._address.connection(self._greet)
        try:
            async with asyncio.timeout(self.call_secs):
                await connection.connect()
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        return connection

    async def close(self) -> None:
        """Close the idle connections. A call in progress closes its own connection when it ends."""
        self._closed = True
        await self._drop_idle()

    async def _exchange(self, command: tuple[Word, ...]) -> Reply:
        connection = await self._take()
        sound = False
        try:
            await connection.send_command(*command, check_health=False)
            reply = await connection.read_response()
            sound = True
        except ResponseError:
            sound = True
            raise
        finally:
            # An interrupted connection would give this call's reply to the next call.
            if sound and not self._closed:
                self._idle.append(connection)
            else:
                await connection.disconnect(nowait=True)
        return reply

    async def _take(self) -> RedisWire:
        while self._idle:
            connection = self._idle.pop()
            # A connection that is readable before a request was closed by the server.
            if connection.is_connected and not await connection.can_read():
                return connection
            await connection.disconnect(nowait=True)
        return await self.dial()

    async def _drop_idle(self) -> None:
        while self._idle:
            await self._idle.pop().disconnect(nowait=True)

    def _failed(self, operation: str, error: Exception) -> EngineUnavailable:
        if isinstance(error, ReadOnlyError):
            # A former primary still answers reads, but with old data.
            self._failures = FAILURES
        elif not isinstance(error, ResponseError):
            self._failures += 1
        # The library's text can contain the request. The class of the error is enough.
        kind = type(error).__name__
        now = self._clock.monotonic_ms()
        if now - self._complained.get(kind, -COMPLAIN_EVERY_MS) >= COMPLAIN_EVERY_MS:
            self._complained[kind] = now
            LOG.warning("The state server at %s failed in %s: %s", self._address.shown, operation, kind)
        return EngineUnavailable(operation=operation)

    def _recovered(self) -> None:
        if self.lost:
            LOG.warning("The state server at %s answers again", self._address.shown)
        self._failures = 0
        self._complained.clear()
