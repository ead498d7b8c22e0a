"""The lines of a token file: `NAME sha256:HEX SCOPE[,SCOPE] [LAST-DAY]`, and tokens that belong to them."""

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from hashlib import sha256
from hmac import compare_digest
from secrets import token_bytes

from mcp_binance_server.domain.access import SCOPES, Scope

HEADING = "# NAME sha256:HASH-OF-THE-TOKEN SCOPE[,SCOPE] [LAST-DAY]\n"
# Says whose it is to people and to programs that look for lost secrets.
PREFIX = "mbs_"
_TOKEN_BYTES = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """Who holds a token, what they may do, and until the end of which day in UTC."""

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
    """A line that cannot be used. The text shows none of it: people paste tokens into wrong places."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


def new_token(random: Callable[[int], bytes] = token_bytes) -> str:
    """Make a token of 256 random bits."""
    return PREFIX + urlsafe_b64encode(random(_TOKEN_BYTES)).decode("ascii").rstrip("=")


def digest_of(token: str) -> bytes:
    # A fast hash is right here, unlike for passwords: nobody guesses 256 random bits, however fast the guesses are,
    # and a slow one would let anybody keep this server busy.
    return sha256(token.encode("ascii")).digest()


def holder(entries: Iterable[TokenEntry], token: str) -> TokenEntry | None:
    """Return whose token this is; how long it takes says nothing about which entry, or how much of one, fits."""
    digest, found = digest_of(token), None
    for entry in entries:
        if compare_digest(entry.digest, digest):
            found = entry
    return found


def check_name(name: str) -> str:
    """Return a name that may stand in a line.

    Raises:
        ValueError: it may not.
    """
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 64 letters, digits, '.', '-' and '_', and starts with a letter or digit")
    return name


def parse_lines(text: str) -> tuple[tuple[TokenEntry, ...], tuple[TokenMistake, ...]]:
    """Read a file; every line stands for itself, so what is good is returned with what is not."""
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
            mistakes.append(TokenMistake(number, "the name is taken by a line above"))
        elif entry.digest in digests:
            mistakes.append(TokenMistake(number, "the token is the same as that of a line above"))
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
