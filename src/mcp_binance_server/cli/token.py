"""`mcp-binance-server token`: create, list and revoke tokens for HTTP callers. Only hashes are stored."""

import argparse
import difflib
import os
import sys
from datetime import date
from pathlib import Path

from mcp_binance_server.cli.setup.files import write_text
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.domain.access import SCOPES
from mcp_binance_server.errors import echo
from mcp_binance_server.transports.http.auth.token_file import (
    HEADING,
    TokenEntry,
    Tokens,
    check_name,
    digest_of,
    new_token,
    read_tokens,
)

EXIT_MISTAKES = 1
DEFAULT_SCOPE = "market:read"
ONCE = """The token is shown only now; the server stores its hash.
Callers send it as: Authorization: Bearer TOKEN
"""
APPEND = "Add the second line to the server's token file.\n"


def run_token(options: argparse.Namespace, clock: Clock | None = None) -> int:
    """Run `token new`, `token list` or `token revoke` and return the exit code."""
    now_ms = (clock or SystemClock()).now_ms()
    file = None if options.file is None else Path(options.file).expanduser()
    try:
        if options.action == "list" and file is not None:
            return _list(file, now_ms)
        if options.action == "revoke" and file is not None:
            return _revoke(options.name, file)
        return _new(options, file, now_ms)
    except OSError as error:
        return _refused(f"{file}: {error.strerror}")
    except ValueError as problem:
        return _refused(str(problem))


def _new(options: argparse.Namespace, file: Path | None, now_ms: int) -> int:
    token = new_token()
    scopes = SCOPES.intersection(options.scope or (DEFAULT_SCOPE,))
    entry = TokenEntry(check_name(options.name), digest_of(token), scopes, _last_day(options.expires))
    if entry.has_expired(now_ms):
        raise ValueError(f"--expires {entry.last_day} is in the past")
    if file is not None:
        _append(file, entry)
    # Print the token last, because it would be useless without a stored hash.
    sys.stdout.write(f"{token}\n" if file else f"{token}\n{entry.line}\n")
    sys.stdout.flush()
    place = f"Added {entry.name} ({', '.join(sorted(scopes))}) to {file}.\n" if file else APPEND
    sys.stderr.write(place + ONCE)
    return 0


def _last_day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise ValueError("--expires must be a date such as 2027-01-31") from None


def _append(file: Path, entry: TokenEntry) -> None:
    with os.fdopen(os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+", encoding="utf-8") as opened:
        tokens = read_tokens(file)
        if tokens.mistakes:
            raise ValueError("\n".join(_shown_mistakes(file, tokens)))
        if any(other.name == entry.name for other in tokens.entries):
            raise ValueError(f"{file}: {entry.name} already has a token; revoke it first, or use another name")
        before = opened.read()
        start = HEADING if not before else "" if before.endswith("\n") else "\n"
        opened.write(f"{start}{entry.line}\n")
        opened.flush()
        os.fsync(opened.fileno())
    _warn_if_others_can_read(file, tokens)


def _revoke(name: str, file: Path) -> int:
    """Remove every line with this name, including invalid lines. A duplicate could otherwise become valid."""
    names = [entry.name for entry in read_tokens(file).entries]
    lines = file.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    kept = [line for line in lines if line.partition("#")[0].split()[:1] != [name]]
    if len(kept) == len(lines):
        near = difflib.get_close_matches(name, names, n=1)
        raise ValueError(f"{file}: no token for {echo(name)}{f'; did you mean {near[0]}?' if near else ''}")
    write_text(file, "".join(kept))
    sys.stderr.write(f"Revoked {name} in {file}: servers that read the file refuse the token within a second.\n")
    return 0


def _list(file: Path, now_ms: int) -> int:
    tokens = read_tokens(file)
    rows = [("NAME", "SCOPES", "LAST DAY"), *(_row(entry, now_ms) for entry in tokens.entries)]
    wide = [max(len(row[place]) for row in rows) for place in range(2)]
    for name, scopes, day in rows if tokens.entries else ():
        sys.stdout.write(f"{name:<{wide[0]}}  {scopes:<{wide[1]}}  {day}\n")
    if not tokens.entries:
        sys.stdout.write("No tokens: all callers are refused.\n")
    _warn_if_others_can_read(file, tokens)
    if tokens.mistakes:
        return _refused("\n".join(_shown_mistakes(file, tokens)))
    return 0


def _row(entry: TokenEntry, now_ms: int) -> tuple[str, str, str]:
    day = "never expires" if entry.last_day is None else str(entry.last_day)
    return entry.name, " ".join(sorted(entry.scopes)), f"{day} (expired)" if entry.has_expired(now_ms) else day


def _shown_mistakes(file: Path, tokens: Tokens) -> list[str]:
    return [f"{file}:{f'{mistake.line}:' if mistake.line else ''} {mistake.text}" for mistake in tokens.mistakes]


def _warn_if_others_can_read(file: Path, tokens: Tokens) -> None:
    if not tokens.is_private:
        sys.stderr.write(f"Other users can read {file}. Fix it with: chmod 600 {file}\n")


def _refused(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return EXIT_MISTAKES
