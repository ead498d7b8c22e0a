"""Token file of the operator: token hashes with scopes and expiry dates."""

import errno
import logging
import os
import re
import stat
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from secrets import token_bytes

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import SCOPES, Scope, Visitor
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.http.auth.authenticator import Headers, Unauthenticated, bearer_token

HEADING = "# NAME sha256:HASH-OF-THE-TOKEN SCOPE[,SCOPE] [LAST-DAY]\n"
# Prefix by which people and secret scanners recognise our tokens.
PREFIX = "mbs_"
_TOKEN_BYTES = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"sha256:([0-9a-f]{64})")

LOG = logging.getLogger(__name__)

CHECK_MS = 250
LARGEST_BYTES = 262_144
MOST_LOGGED = 10


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """Holder of a token, its scopes, and its last valid day in UTC."""

    name: str
    digest: bytes = field(repr=False)
    scopes: frozenset[Scope]
    last_day: date | None = None

    @property
    def line(self) -> str:
        words = (self.name, f"sha256:{self.digest.hex()}", ",".join(sorted(self.scopes)), self.last_day)
        return " ".join(str(word) for word in words if word is not None)

    def has_expired(self, now_ms: int) -> bool:
        return self.last_day is not None and datetime.fromtimestamp(now_ms / 1000, UTC).date() > self.last_day


@dataclass(frozen=True, slots=True)
class TokenMistake:
    """An invalid line.

    The text shows no part of the line, because the line may contain a token that was pasted by mistake.
    """

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


def new_token(random: Callable[[int], bytes] = token_bytes) -> str:
    """Generate a token with 256 random bits."""
    return PREFIX + urlsafe_b64encode(random(_TOKEN_BYTES)).decode("ascii").rstrip("=")


def digest_of(token: str) -> bytes:
    # A fast hash is safe here, because a token has 256 random bits and, unlike a password, cannot be guessed. A slow
    # hash would let any client overload this server.
    return sha256(token.encode("ascii")).digest()


def holder(entries: Iterable[TokenEntry], token: str) -> TokenEntry | None:
    """Return the entry of a token. The duration reveals neither the matching entry nor a partial match."""
    digest, found = digest_of(token), None
    for entry in entries:
        if compare_digest(entry.digest, digest):
            found = entry
    return found


def check_name(name: str) -> str:
    """Return a holder's name if it is valid in a line.

    Raises:
        ValueError: the name is invalid.
    """
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 64 letters, digits, '.', '-' and '_', and starts with a letter or digit")
    return name


def parse_lines(text: str) -> tuple[tuple[TokenEntry, ...], tuple[TokenMistake, ...]]:
    """Parse the lines of a token file. Return the valid entries and the errors."""
    entries: dict[str, TokenEntry] = {}
    digests: set[bytes] = set()
    mistakes: list[TokenMistake] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            entry = _entry(words)
        except ValueError as problem:
            mistakes.append(TokenMistake(number, str(problem)))
            continue
        if entry.name in entries:
            mistakes.append(TokenMistake(number, "an earlier line has the same name"))
        elif entry.digest in digests:
            mistakes.append(TokenMistake(number, "an earlier line has the same token"))
        else:
            entries[entry.name] = entry
            digests.add(entry.digest)
    return tuple(entries.values()), tuple(mistakes)


def _entry(words: list[str]) -> TokenEntry:
    if not 3 <= len(words) <= 4:
        raise ValueError("a line is NAME sha256:HASH SCOPE[,SCOPE] [LAST-DAY]")
    hashed = _HASH.fullmatch(words[1])
    if hashed is None:
        raise ValueError("the second word must be sha256: and 64 hexadecimal digits, never the token itself")
    scopes = SCOPES.intersection(words[2].split(","))
    if len(scopes) != len(words[2].split(",")):
        raise ValueError(f"the scopes must be some of {','.join(sorted(SCOPES))}, each once")
    return TokenEntry(check_name(words[0]), bytes.fromhex(hashed[1]), scopes, _day(words[3:]))


def _day(words: list[str]) -> date | None:
    try:
        return date.fromisoformat(words[0]) if words else None
    except ValueError:
        raise ValueError("the last day must be a date such as 2027-01-31") from None


@dataclass(frozen=True, slots=True)
class Tokens:
    """Entries and errors of a token file."""

    entries: tuple[TokenEntry, ...] = ()
    mistakes: tuple[TokenMistake, ...] = ()
    is_private: bool = True
    """Whether only its owner can read it, as far as this system knows."""


def read_tokens(path: Path) -> Tokens:
    """Read a token file.

    Raises:
        OSError: the file cannot be read.
    """
    # Opening a pipe without a writer would block forever.
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
    """Authenticator for the tokens of a file. A token removed from the file is refused within a second."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Read the token file.

        Raises:
            SettingsError: the file cannot be read, or a line is invalid.
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
            raise Unauthenticated("The token is unknown.")
        if entry.has_expired(self._clock.now_ms()):
            raise Unauthenticated("The token has expired.")
        return Visitor(f"token {entry.name}", entry.scopes)

    def edition(self) -> object:
        """Return a value that changes with the file and with the date, because tokens expire at the end of a day."""
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
            # Without the file no token is valid.
            LOG.error("the token file cannot be read, all tokens are refused: %s", error.strerror)  # noqa: TRY400
            tokens = Tokens()
        self._entries = self._checked(tokens)

    def _checked(self, tokens: Tokens) -> tuple[TokenEntry, ...]:
        if not tokens.is_private:
            LOG.warning("others can read the token file; chmod 600 keeps names and scopes private")
        # The valid lines are used even if others are invalid. Keeping the old entries would keep tokens that were
        # removed.
        for mistake in tokens.mistakes[:MOST_LOGGED]:
            LOG.error("token file, %s; the line is ignored", mistake)
        return tokens.entries


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
