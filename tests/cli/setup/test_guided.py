"""`setup` without a client: what is found, what is chosen, what the key may do, and a removal that breaks nobody."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from binance_simulator.account import KeyRights
from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.setup.clients import CLIENTS, Machine
from mcp_binance_server.cli.setup.command import client_name
from mcp_binance_server.cli.setup.run import Course, KeyTrial, try_key
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.key_file import written
from support.clock import FakeClock
from support.exchange_socket import ServedExchange, served_exchange
from support.process import COMMAND, clean_environment
from support.setups import Terminalist, machine_at, options, read_until, run

KEY, SECRET = "K1" * 32, "CaNaRy0123456789" * 4


@pytest.fixture(scope="module")
def served() -> Iterator[ServedExchange]:
    with served_exchange() as exchange:
        yield exchange


def file_of(machine: Machine, client: str) -> Path:
    return Path(CLIENTS[client].file(machine))


def has_entry(machine: Machine, client: str) -> bool:
    file = file_of(machine, client)
    return file.is_file() and "binance" in file.read_text(encoding="utf-8")


def guided(machine: Machine, person: Terminalist, *commands: str, **given: object) -> int:
    def which(command: str) -> str | None:
        return f"/bin/{command}" if command in commands else None

    course = Course(options(None, **given), machine, person.talk(), Terminal(), FakeClock(), which=which)
    return course.run()


def test_clients_are_found_by_their_file_their_folder_or_their_command(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text("{}", encoding="utf-8")
    (tmp_path / ".cursor").mkdir()
    person = Terminalist(answers=["0", "4", "vs code", "y"])

    code = guided(machine_at(tmp_path), person, "codex", no_keys=True)

    assert code == 0
    assert "  1  Claude Code\n  2  Cursor\n  3  Codex\n" in person.seen
    absent = "Claude Desktop, VS Code, Windsurf, Gemini CLI, Qwen Code, opencode, Cline, Continue, Mistral Vibe, Zed"
    assert f"Not found: {absent}." in person.seen
    assert "0 is not in the list." in person.seen
    assert "4 is not in the list." in person.seen
    assert has_entry(machine_at(tmp_path), "vscode")


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [("", {"cursor", "codex"}), ("all", {"cursor", "codex"}), ("2", {"codex"}), ("2 1", {"cursor", "codex"}),
     ("Codex, vs code", {"codex", "vscode"})],
)  # fmt: skip
def test_numbers_and_names_choose_and_nothing_means_all(answer: str, chosen: set[str], tmp_path: Path) -> None:
    machine = machine_at(tmp_path)
    person = Terminalist(answers=[answer])

    guided(machine, person, "cursor", "codex", no_keys=True, yes=True)

    assert {client for client in CLIENTS if has_entry(machine, client)} == chosen
    assert person.seen.count("Then ask:") == 1


@pytest.mark.parametrize(
    ("given", "times"),
    [({}, 1), ({"dry_run": True}, 0), ({"remove": True}, 0)],
    ids=["two clients", "dry run", "removal"],
)
def test_the_server_is_compiled_once_after_a_change(given: dict[str, object], times: int, tmp_path: Path) -> None:
    machine, compiled = machine_at(tmp_path), list[bool]()
    for client in ("cursor", "codex"):
        run(machine, Terminalist(), client, yes=True, no_keys=True)
    talk = Terminalist(answers=["all"]).talk()
    course = Course(
        options(None, no_keys=True, yes=True, **given), machine, talk, Terminal(), FakeClock(),
        prepare=lambda: compiled.append(True),
    )  # fmt: skip

    assert course.run() == 0
    assert len(compiled) == times


def test_keys_are_asked_for_once_and_every_client_gets_them(tmp_path: Path) -> None:
    machine = machine_at(tmp_path)
    person = Terminalist([KEY, SECRET, ""], ["", "y", "y"])

    guided(machine, person, "cursor", "gemini", network="testnet")

    assert person.seen.count("Binance API key") == 1
    for client in ("cursor", "gemini"):
        entry = json.loads(file_of(machine, client).read_text(encoding="utf-8"))["mcpServers"]["binance"]
        assert entry["env"]["BINANCE_NETWORK"] == "testnet"
        assert entry["env"]["MCP_BINANCE_KEY_FILE"].endswith("keys-testnet.env")


def test_what_is_set_up_already_is_marked(tmp_path: Path) -> None:
    run(machine_at(tmp_path), Terminalist(), "cursor", yes=True, no_keys=True)
    person = Terminalist()

    code = guided(machine_at(tmp_path), person, "codex", no_keys=True)

    assert code == 0
    assert "  1  Cursor  (already set up)\n  2  Codex\n" in person.seen
    assert "Nothing was written." in person.seen


def test_where_nothing_is_found_every_client_can_be_named(tmp_path: Path) -> None:
    person = Terminalist(answers=["", "emacs", "Claude desktop", "y"])

    guided(machine_at(tmp_path), person, no_keys=True)

    assert "No client was found" in person.seen
    assert "'emacs' is not a known client: claude-desktop, " in person.seen
    assert has_entry(machine_at(tmp_path), "claude-desktop")


def test_without_a_terminal_one_line_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".cursor").mkdir()

    code = main(["setup"])

    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert len(said.err.splitlines()) == 1
    assert "not a terminal: name the client with setup --client NAME (found here: cursor; all: " in said.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("VS Code", "vscode"),
        ("vs-code", "vscode"),
        ("Visual Studio Code", "vscode"),
        ("Claude Desktop", "claude-desktop"),
        ("claude_code", "claude-code"),
        ("CURSOR", "cursor"),
        ("Gemini CLI", "gemini"),
    ],
)
def test_a_client_is_known_however_it_is_written(typed: str, meant: str) -> None:
    assert client_name(typed) == meant


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("claude", "'claude' is ambiguous: claude-desktop or claude-code"),
        ("curser", "did you mean cursor?"),
        (
            "emacs",
            "'emacs' is not a known client: claude-desktop, claude-code, cursor, vscode, windsurf, codex, gemini, "
            "qwen, opencode, cline, continue, vibe, zed",
        ),
    ],
)
def test_a_client_that_is_not_known_is_answered_with_the_list(
    typed: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["setup", "--client", typed])

    assert left.value.code == 2
    assert said in capsys.readouterr().err


def test_keys_that_another_client_reads_are_not_offered_for_deletion(tmp_path: Path) -> None:
    machine = machine_at(tmp_path)
    run(machine, Terminalist([KEY, SECRET, ""]), "cursor", yes=True)
    run(machine, Terminalist(), "codex", yes=True, no_keys=True, name="exchange")
    first, second = Terminalist(), Terminalist()

    run(machine, first, "cursor", yes=True, remove=True)
    run(machine, second, "codex", yes=True, remove=True, name="exchange")

    assert "Your keys were kept. Codex still uses them." in first.seen
    assert "rm " not in first.seen
    assert "To delete them too: rm " in second.seen


def test_an_entry_that_names_no_key_file_reads_the_usual_one(tmp_path: Path) -> None:
    machine = machine_at(tmp_path)
    run(machine, Terminalist([KEY, SECRET, ""]), "cursor", yes=True)
    servers = {"mine": {"command": "uvx", "args": ["mcp-binance-server"]}}
    file_of(machine, "gemini").parent.mkdir(parents=True)
    file_of(machine, "gemini").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    person = Terminalist()

    run(machine, person, "cursor", yes=True, remove=True)

    assert "Gemini CLI still uses them." in person.seen


def test_a_file_that_cannot_be_read_might_hold_an_entry(tmp_path: Path) -> None:
    machine = machine_at(tmp_path)
    run(machine, Terminalist([KEY, SECRET, ""]), "cursor", yes=True)
    file_of(machine, "codex").parent.mkdir(parents=True)
    file_of(machine, "codex").write_text("not [toml", encoding="utf-8")
    person = Terminalist()

    run(machine, person, "cursor", yes=True, remove=True)

    assert "Other clients may use them" in person.seen
    assert "rm " not in person.seen


def test_a_removal_without_a_client_offers_those_that_have_the_entry(tmp_path: Path) -> None:
    machine = machine_at(tmp_path)
    run(machine, Terminalist(), "zed", yes=True, no_keys=True)
    (tmp_path / ".cursor").mkdir()
    person, again = Terminalist(answers=["1", "y"]), Terminalist()

    guided(machine, person, remove=True)
    guided(machine, again, remove=True)

    assert "Clients with an entry named binance:\n\n  1  Zed\n" in person.seen
    assert "Not found" not in person.seen
    assert "  2  " not in person.seen
    assert not has_entry(machine, "zed")
    assert again.seen == "No client has an entry named binance; nothing to remove.\n"


def tried(served: ServedExchange, folder: Path, *, secret: str | None = None, network: str = "mainnet") -> KeyTrial:
    account = served.exchange.account
    keys = folder / "keys.env"
    keys.write_text(
        written({"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": secret or account.secret_key}),
        encoding="utf-8",
    )
    keys.chmod(0o600)
    verdict = anyio.run(try_key, {"BINANCE_REST_URL": served.rest_url}, keys, network)
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    ("rights", "said", "advice"),
    [
        (KeyRights(), "it may read, and nothing else.", ""),
        (KeyRights(ip_restricted=False), "it may read, and nothing else.", "give it an IP access list"),
        (KeyRights(trading=True), "it may read, trade.", "A key that can only read is enough"),
        (KeyRights(withdrawals=True), "IT CAN WITHDRAW YOUR MONEY.", "Untick 'Enable Withdrawals'"),
        (KeyRights(reading=False), "mainnet refuses the key.", "tick Enable Reading"),
    ],
)
def test_what_the_key_may_do_is_said(
    rights: KeyRights, said: str, advice: str, served: ServedExchange, tmp_path: Path
) -> None:
    served.heal()
    served.exchange.rights = rights

    verdict = tried(served, tmp_path)

    assert said in verdict.said
    assert advice in verdict.advice


def test_a_network_that_tells_no_rights_is_believed_when_it_lets_the_key_in(
    served: ServedExchange, tmp_path: Path
) -> None:
    served.heal()

    assert tried(served, tmp_path, network="testnet").said.endswith("accepts the key: it may read the account.")


def test_a_wrong_secret_is_told_as_such(served: ServedExchange, tmp_path: Path) -> None:
    served.heal()

    verdict = tried(served, tmp_path, secret=SECRET)

    assert verdict.said == "mainnet refuses the key."
    assert "is not the secret of this API key" in verdict.advice
    assert SECRET not in repr(verdict)


@pytest.mark.night
@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is a Unix thing")
def test_at_a_terminal_everything_is_asked_and_the_key_is_tried(served: ServedExchange, tmp_path: Path) -> None:
    served.heal()
    (tmp_path / ".cursor").mkdir()
    account = served.exchange.account
    around = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "PATH": "/nonexistent", "NO_COLOR": "1"}
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "setup"], stdin=end, stdout=end, stderr=end, start_new_session=True,
        env=clean_environment({**around, "BINANCE_REST_URL": served.rest_url}),
    )  # fmt: skip
    os.close(end)

    said = ""
    questions = ("for all: ", "API key (Enter: none): ", "(PEM): ", "com key (Enter: none): ", "[y/N] ")
    for question, typed in zip(questions, ("", account.api_key, account.secret_key, "", "y"), strict=True):
        said += read_until(terminal, question)
        os.write(terminal, f"{typed}\n".encode())
    said += read_until(terminal, "doctor")

    assert process.wait(60) == 0
    os.close(terminal)
    assert "1  Cursor" in said
    assert "accepts the key: it may read, and nothing else." in said
    assert account.api_key not in said
    assert account.secret_key not in said
