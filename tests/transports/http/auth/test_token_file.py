"""Tokens of ours in a file: who comes in, what a wrong line costs, and how soon a change counts."""

import logging
import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.http.auth import token_file as token_lines
from mcp_binance_server.transports.http.auth.authenticator import Unauthenticated
from mcp_binance_server.transports.http.auth.token_file import (
    CHECK_MS,
    LARGEST_BYTES,
    TokenEntry,
    TokenFile,
    digest_of,
    holder,
    new_token,
    parse_lines,
)
from support.clock import FakeClock

ADA, BOB = "mbs_" + "a" * 43, "mbs_" + "b" * 43


def hashed(token: str) -> str:
    return f"sha256:{sha256(token.encode()).hexdigest()}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text(f"# people\nada {hashed(ADA)} market:read,account:read\n\nbob {hashed(BOB)} market:read # desk\n")
    path.chmod(0o600)
    return path


def rewrite(file: Path, text: str) -> None:
    """Change a file so that it cannot pass for the old one, however coarse the disk's clock is."""
    before = file.stat().st_mtime_ns
    file.write_text(text)
    os.utime(file, ns=(before + 1_000_000, before + 1_000_000))


async def enter(authenticator: TokenFile, token: str) -> Visitor:
    return await authenticator.visitor([(b"authorization", f"Bearer {token}".encode())], b"")


async def is_let_in(authenticator: TokenFile, token: str) -> bool:
    try:
        await enter(authenticator, token)
    except Unauthenticated as refusal:
        if (refusal.status, refusal.error) != (401, "invalid_token"):
            raise
        return False
    return True


async def test_whoever_holds_a_token_comes_in_as_its_owner(file: Path, clock: FakeClock) -> None:
    authenticator = TokenFile(file, clock)

    assert await enter(authenticator, ADA) == Visitor("token ada", frozenset({"market:read", "account:read"}))
    assert await enter(authenticator, BOB) == Visitor("token bob", frozenset({"market:read"}))


@pytest.mark.parametrize("token", [ADA[:-1], ADA + "a", ADA.upper(), "ada", hashed(ADA).removeprefix("sha256:")])
async def test_nothing_but_the_whole_token_will_do(token: str, file: Path, clock: FakeClock) -> None:
    assert not await is_let_in(TokenFile(file, clock), token)


async def test_a_token_works_until_the_end_of_its_last_day(file: Path, clock: FakeClock) -> None:
    rewrite(file, f"ada {hashed(ADA)} market:read 2027-01-31\n")
    authenticator = TokenFile(file, clock)
    midnight_ms = int(datetime(2027, 2, 1, tzinfo=UTC).timestamp()) * 1000

    clock.set_wall(midnight_ms - 1)
    assert await is_let_in(authenticator, ADA)
    clock.set_wall(midnight_ms)
    with pytest.raises(Unauthenticated, match="expired"):
        await enter(authenticator, ADA)


async def test_a_change_counts_within_a_second_and_the_disk_is_not_asked_for_each_request(
    file: Path, clock: FakeClock
) -> None:
    authenticator = TokenFile(file, clock)
    rewrite(file, f"bob {hashed(BOB)} trade\n")

    clock.advance(CHECK_MS - 1)
    assert await is_let_in(authenticator, ADA)
    clock.advance(1)
    assert not await is_let_in(authenticator, ADA)
    assert (await enter(authenticator, BOB)).scopes == {"trade"}


async def test_a_wrong_line_in_a_changed_file_costs_only_itself(
    file: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    authenticator = TokenFile(file, clock)
    rewrite(file, f"ada {ADA} market:read\nbob {hashed(BOB)} market:read\n")
    clock.advance(1_000)

    # The old line of ada is gone, so it must not let anybody in any more.
    assert not await is_let_in(authenticator, ADA)
    assert await is_let_in(authenticator, BOB)
    assert "token file, line 1: the second word must be sha256:" in caplog.text
    assert ADA not in caplog.text


async def test_a_file_that_is_taken_away_takes_its_tokens_with_it(
    file: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    authenticator = TokenFile(file, clock)
    elsewhere = file.with_name("elsewhere")
    os.rename(file, elsewhere)  # noqa: PTH104 - the async rule knows only Path
    clock.advance(1_000)

    assert not await is_let_in(authenticator, ADA)
    clock.advance(5_000)
    assert not await is_let_in(authenticator, ADA)
    assert caplog.text.count("cannot be read") == 1
    os.rename(elsewhere, file)  # noqa: PTH104 - likewise
    clock.advance(1_000)
    assert await is_let_in(authenticator, ADA)


@pytest.mark.parametrize(("mode", "told"), [(0o600, 0), (0o400, 0), (0o640, 1), (0o604, 1)])
def test_a_file_that_others_can_read_is_mentioned(
    mode: int, told: int, file: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    file.chmod(mode)

    TokenFile(file, clock)

    assert caplog.text.count("others can read the token file") == told


GOOD = f"ada {hashed(ADA)} market:read"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("ada", "a line is NAME"),
        (f"{GOOD} 2027-01-31 more", "a line is NAME"),
        (f"ada {ADA} market:read", "never the token itself"),
        (f"ada sha256:{'A' * 64} market:read", "64 hexadecimal digits"),
        (f"ada sha256:{'a' * 63} market:read", "64 hexadecimal digits"),
        (f"ada {hashed(ADA)} market:reed", "the scopes must be some of account:read,market:read,trade"),
        (f"ada {hashed(ADA)} market:read,", "the scopes must be some of"),
        (f"ada {hashed(ADA)} trade,trade", "each once"),
        (f"-ada {hashed(ADA)} market:read", "a name has"),
        (f"{'a' * 65} {hashed(ADA)} market:read", "a name has"),
        (f"{GOOD} 2027-02-30", "a date such as"),
        (f"{GOOD} tomorrow", "a date such as"),
        (f"bob {hashed(ADA)} market:read", "an earlier line has the same name"),
        (f"ada {hashed(BOB)} market:read", "an earlier line has the same token"),
    ],
)
def test_a_wrong_line_is_named_and_not_shown(line: str, problem: str, file: Path, clock: FakeClock) -> None:
    file.write_text(f"\nbob {hashed(BOB)} market:read\r\n{line}\n")

    with pytest.raises(SettingsError) as caught:
        TokenFile(file, clock)

    assert f"{file}, line 3: " in caught.value.message
    assert problem in caught.value.message
    assert not any(word in caught.value.message for word in (ADA, hashed(ADA)))


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_large(path: Path) -> None:
    path.write_bytes(b"#" * (LARGEST_BYTES + 1))


def make_binary(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")


def make_nothing(path: Path) -> None:
    assert not path.exists()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (make_nothing, "No such file"),
        (Path.mkdir, "(Is a directory|Not a regular file)"),
        (make_fifo, "Not a regular file"),
        (make_large, "Larger than 262,144 bytes"),
        (make_binary, "not UTF-8"),
    ],
)
def test_what_is_no_token_file_stops_the_start(
    make: Callable[[Path], None], problem: str, tmp_path: Path, clock: FakeClock
) -> None:
    path = tmp_path / "other"
    make(path)

    with pytest.raises(SettingsError, match=problem):
        TokenFile(path, clock)


def test_an_empty_file_is_good_and_lets_nobody_in() -> None:
    assert parse_lines("") == ((), ())


def test_a_line_that_was_written_is_read_as_it_was() -> None:
    entry = TokenEntry("ci.box-1", digest_of(ADA), frozenset({"trade", "market:read"}), date(2030, 1, 2))

    assert parse_lines(entry.line) == ((entry,), ())
    assert entry.line == f"ci.box-1 {hashed(ADA)} market:read,trade 2030-01-02"


def test_a_token_is_all_of_its_randomness() -> None:
    seen: list[int] = []

    def random(size: int) -> bytes:
        seen.append(size)
        return bytes(range(size))

    token = new_token(random)

    assert seen == [32]
    assert token.removeprefix("mbs_") == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    assert len({new_token() for _ in range(100)}) == 100


def test_every_entry_is_compared_in_constant_time_wherever_the_match_is(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    real = token_lines.compare_digest

    def counted(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return real(one, other)

    monkeypatch.setattr(token_lines, "compare_digest", counted)
    tokens = [f"mbs_{number:043}" for number in range(50)]
    entries = [TokenEntry(f"n{number}", digest_of(token), frozenset()) for number, token in enumerate(tokens)]

    found = [holder(entries, token) for token in (tokens[0], tokens[-1], "mbs_unknown")]

    assert found == [entries[0], entries[-1], None]
    assert compared == [entry.digest for entry in entries] * 3


def test_no_repr_and_no_log_shows_a_hash_or_a_token(
    file: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    authenticator = TokenFile(file, clock)

    shown = f"{authenticator!r} {parse_lines(file.read_text())!r} {caplog.text}"

    assert not any(piece in shown for piece in (ADA, hashed(ADA), repr(digest_of(ADA))))
