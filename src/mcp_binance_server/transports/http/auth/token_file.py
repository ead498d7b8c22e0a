"""Visitors with a token of ours, whose hashes lie in a file that is read again when it changes."""

import errno
import logging
import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.http.auth.authenticator import Headers, Unauthenticated
from mcp_binance_server.transports.http.auth.bearer import bearer_token
from mcp_binance_server.transports.http.auth.token_lines import TokenEntry, TokenMistake, holder, parse_lines

LOG = logging.getLogger(__name__)

CHECK_MS = 250
LARGEST_BYTES = 262_144
MOST_LOGGED = 10


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a file holds, and what is wrong with it."""

    entries: tuple[TokenEntry, ...] = ()
    mistakes: tuple[TokenMistake, ...] = ()
    is_private: bool = True
    """Whether only its owner can read it, as far as this system knows."""


def read_tokens(path: Path) -> Tokens:
    """Read a token file.

    Raises:
        OSError: it cannot be read.
    """
    # Without blocking: what is there may be a pipe that nobody writes to.
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file")
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise OSError(errno.EFBIG, f"Larger than {LARGEST_BYTES:,} bytes")
    try:
        entries, mistakes = parse_lines(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        entries, mistakes = (), (TokenMistake(0, "the file is not UTF-8"),)
    is_private = os.name == "nt" or not facts.st_mode & 0o077
    return Tokens(entries, mistakes, is_private)


class TokenFile:
    """Lets in whoever holds a token of the file. A line that is taken out stops working within a second."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Read the file.

        Raises:
            SettingsError: it cannot be read, or a line of it is wrong.
        """
        self._path = path
        self._clock = clock
        self._seen = _version(path)
        self._checked_ms = clock.monotonic_ms()
        try:
            tokens = read_tokens(path)
        except OSError as error:
            raise SettingsError(problems=(f"{path}: {error.strerror}",)) from None
        if tokens.mistakes:
            raise SettingsError(problems=tuple(f"{path}, {mistake}" for mistake in tokens.mistakes))
        self._entries = self._checked(tokens)

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:
        token = bearer_token(headers, query)
        self._look_again()
        entry = holder(self._entries, token)
        if entry is None:
            raise Unauthenticated("The token is not known here.")
        if entry.has_expired(self._clock.now_ms()):
            raise Unauthenticated("The token has expired.")
        return Visitor(f"token {entry.name}", entry.scopes)

    def edition(self) -> object:
        """Return what changes with the file, and with the day that is some token's last."""
        self._look_again()
        return self._seen, datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC).date()

    def _look_again(self) -> None:
        now = self._clock.monotonic_ms()
        if now - self._checked_ms < CHECK_MS:
            return
        self._checked_ms = now
        if (version := _version(self._path)) == self._seen:
            return
        self._seen = version
        try:
            tokens = read_tokens(self._path)
        except OSError as error:
            # A file that was taken away takes its tokens with it.
            LOG.error("the token file cannot be read, nobody can be let in: %s", error.strerror)  # noqa: TRY400
            tokens = Tokens()
        self._entries = self._checked(tokens)

    def _checked(self, tokens: Tokens) -> tuple[TokenEntry, ...]:
        if not tokens.is_private:
            LOG.warning("others can read the token file; chmod 600 keeps names and scopes private")
        # The good lines count although others are wrong: keeping the old file would keep tokens that were taken out.
        for mistake in tokens.mistakes[:MOST_LOGGED]:
            LOG.error("token file, %s; the line is ignored", mistake)
        return tokens.entries


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
