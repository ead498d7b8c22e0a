"""`token new` and `token list`: what a person types, sees once, and finds in the file."""

import re
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.cli.arguments import Parser, add_token_command
from mcp_binance_server.cli.token import run_token
from mcp_binance_server.transports.http.auth.authenticator import Unauthenticated
from mcp_binance_server.transports.http.auth.token_file import TokenFile, digest_of, parse_lines
from support.clock import FakeClock

TOKEN = re.compile(r"mbs_[A-Za-z0-9_-]{43}")

Output = pytest.CaptureFixture[str]


def parser() -> Parser:
    root = Parser(prog="mcp-binance-server", allow_abbrev=False)
    add_token_command(root.add_subparsers(dest="command"))
    return root


def run(*arguments: str) -> int:
    return run_token(parser().parse_args(["token", *arguments]), FakeClock())


def test_a_new_token_is_shown_once_with_the_line_that_belongs_to_it(capsys: Output) -> None:
    code = run("new", "laptop", "--scope", "market:read", "--scope", "account:read", "--expires", "2027-01-31")

    shown = capsys.readouterr()
    token, line = shown.out.splitlines()
    ((entry,), mistakes) = parse_lines(line)
    assert (code, mistakes) == (0, ())
    assert TOKEN.fullmatch(token)
    assert (entry.name, entry.digest, str(entry.last_day)) == ("laptop", digest_of(token), "2027-01-31")
    assert entry.scopes == {"market:read", "account:read"}
    assert "The token is shown only now" in shown.err
    assert token not in shown.err


def test_with_a_file_only_the_token_is_printed_and_the_server_takes_it(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "tokens"

    codes = [run("new", name, "--file", str(file)) for name in ("ada", "bob")]

    shown = capsys.readouterr()
    ada, bob = shown.out.splitlines()
    entries, mistakes = parse_lines(file.read_text())
    assert (codes, mistakes) == ([0, 0], ())
    assert [(entry.name, entry.digest) for entry in entries] == [("ada", digest_of(ada)), ("bob", digest_of(bob))]
    assert all(entry.scopes == {"market:read"} for entry in entries)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().startswith("# NAME sha256:")
    assert f"Added bob (market:read) to {file}." in shown.err
    assert not any(token in file.read_text() + shown.err for token in (ada, bob))
    assert TokenFile(file, FakeClock())


def test_a_line_is_appended_also_behind_one_without_an_end(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"ada sha256:{'0' * 64} trade")

    assert run("new", "bob", "--file", str(file)) == 0

    assert [entry.name for entry in parse_lines(file.read_text())[0]] == ["ada", "bob"]
    assert f"chmod 600 {file}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "arguments", "problem"),
    [
        ("", ["new", "a b"], "a name has 1 to 64 letters"),
        ("", ["new", "ada", "--expires", "tomorrow"], "--expires must be a date such as 2027-01-31"),
        ("", ["new", "ada", "--expires", "2020-01-01"], "--expires 2020-01-01 is in the past"),
        (f"ada sha256:{'0' * 64} trade\n", ["new", "ada"], "ada already has a token"),
        ("ada\n", ["new", "bob"], "tokens:1: a line is NAME"),
        ("\n\nada x trade\n", ["list"], "tokens:3: the second word must be sha256:"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    content: str, arguments: list[str], problem: str, tmp_path: Path, capsys: Output
) -> None:
    file = tmp_path / "tokens"
    file.write_text(content)

    code = run(*arguments, "--file", str(file))

    shown = capsys.readouterr()
    assert code == 1
    assert problem in shown.err
    assert not TOKEN.search(shown.out)
    assert file.read_text() == content


@pytest.mark.parametrize("arguments", [["list"], ["new", "ada"]])
def test_a_file_that_cannot_be_opened_is_named(arguments: list[str], tmp_path: Path, capsys: Output) -> None:
    missing = tmp_path / "no" / "tokens"

    assert run(*arguments, "--file", str(missing)) == 1
    assert capsys.readouterr().err == f"{missing}: No such file or directory\n"


def test_the_list_says_who_what_and_until_when(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "tokens"
    file.write_text(
        f"ada sha256:{'0' * 64} market:read,account:read\n"
        f"build-box sha256:{'1' * 64} market:read 2026-01-31\n"
        f"bob sha256:{'2' * 64} trade 2030-12-31\n"
    )
    file.chmod(0o600)

    code = run("list", "--file", str(file))

    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    assert shown.out == (
        "NAME       SCOPES                    LAST DAY\n"
        "ada        account:read market:read  never expires\n"
        "build-box  market:read               2026-01-31 (expired)\n"
        "bob        trade                     2030-12-31\n"
    )


def test_an_empty_file_lists_nobody(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "tokens"
    file.touch(0o600)

    assert run("list", "--file", str(file)) == 0
    assert capsys.readouterr().out == "No tokens: all callers are refused.\n"


@pytest.mark.parametrize("arguments", [[], ["new"], ["new", "ada", "--scope", "everything"], ["list"]])
def test_an_incomplete_command_is_a_question(arguments: list[str], capsys: Output) -> None:
    with pytest.raises(SystemExit) as left:
        run(*arguments)

    assert left.value.code == 2
    assert "--help" in capsys.readouterr().err


def test_the_arguments_load_nothing_that_a_start_does_not_need() -> None:
    code = "import sys, mcp_binance_server.cli.arguments as _; print('secrets' in sys.modules, 'jwt' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "False False\n"


async def admitted(authenticator: TokenFile, token: str) -> bool:
    try:
        await authenticator.visitor([(b"authorization", f"Bearer {token}".encode())], b"")
    except Unauthenticated:
        return False
    return True


def test_a_revoked_token_opens_nothing_within_a_second_and_the_others_still_do(tmp_path: Path, capsys: Output) -> None:
    file, clock = tmp_path / "tokens", FakeClock()
    for name in ("ada", "bob"):
        run("new", name, "--file", str(file))
    ada, bob = capsys.readouterr().out.splitlines()
    with file.open("a", encoding="utf-8") as more:
        more.write("# kept\nada of no use\n")
    mistaken = file.read_text(encoding="utf-8")
    file.write_text(mistaken.replace("ada of no use\n", ""), encoding="utf-8")
    authenticator = TokenFile(file, clock)
    before = anyio.run(admitted, authenticator, ada)
    file.write_text(mistaken, encoding="utf-8")

    code = run("revoke", "ada", "--file", str(file))

    clock.advance(1_000)
    assert (code, before) == (0, True)
    assert (anyio.run(admitted, authenticator, ada), anyio.run(admitted, authenticator, bob)) == (False, True)
    assert file.read_text(encoding="utf-8").startswith("# NAME sha256:")
    assert file.read_text(encoding="utf-8").endswith("# kept\n")
    assert not re.search(r"^ada ", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Revoked ada" in capsys.readouterr().err


def test_a_token_that_is_not_there_is_told_with_the_nearest_name(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "tokens"
    run("new", "laptop", "--file", str(file))
    before = file.read_bytes()

    codes = run("revoke", "labtop", "--file", str(file)), run("revoke", "x", "--file", str(tmp_path / "none"))

    said = capsys.readouterr().err
    assert codes == (1, 1)
    assert "no token for labtop; did you mean laptop?" in said
    assert "No such file" in said
    assert file.read_bytes() == before
