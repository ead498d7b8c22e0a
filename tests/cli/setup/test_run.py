"""The whole course of `setup` on a home folder of its own: what is asked, shown, written, and never shown."""

import json
import os
import pty
import stat
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.setup.clients import CLIENTS, Launcher
from mcp_binance_server.cli.setup.plan import our_entries, plan_addition
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import read_settings
from support.process import COMMAND, Process, clean_environment
from support.setups import LINUX, Terminalist, machine_at, read_until, run

KEY = "K1" * 32
SECRET = "CaNaRy0123456789" * 4
CHART_KEY = "chart-CaNaRy-9876543210"
COMPLETION = {
    "ref": {"type": "ref/prompt", "name": "trading_analysis"},
    "argument": {"name": "strategy", "value": ""},
}
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")


def file_of(home: Path, client: str) -> Path:
    return Path(CLIENTS[client].file(machine_at(home)))


def written(home: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("client", CLIENTS)
def test_keys_go_to_a_file_of_their_own_and_nowhere_else(client: str, tmp_path: Path) -> None:
    person = Terminalist([KEY, SECRET, CHART_KEY], ["y"])

    code = run(machine_at(tmp_path), person, client)

    store = tmp_path / ".config/mcp-binance-server/keys-mainnet.env"
    elsewhere = {path: text for path, text in written(tmp_path).items() if path != str(store)}
    assert code == 0
    assert str(store) in file_of(tmp_path, client).read_text()
    for secret in (KEY, SECRET, CHART_KEY):
        assert secret in store.read_text()
        assert secret[:9] not in person.seen
        assert not any(secret[:9] in text for text in elsewhere.values())


@POSIX
def test_nobody_else_can_read_what_was_written(tmp_path: Path) -> None:
    run(machine_at(tmp_path), Terminalist([KEY, SECRET, ""]), "cursor", yes=True)

    store = tmp_path / ".config/mcp-binance-server/keys-mainnet.env"
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file_of(tmp_path, "cursor").stat().st_mode) == 0o600


def test_the_server_finds_the_keys_by_the_entry_and_by_itself(tmp_path: Path) -> None:
    run(machine_at(tmp_path), Terminalist([KEY, SECRET, ""]), "cursor", yes=True)

    entry = json.loads(file_of(tmp_path, "cursor").read_text())["mcpServers"]["binance"]
    for environment in (entry["env"], {"HOME": str(tmp_path)}):
        found = read_settings(environment)
        assert found.api_key is not None
        assert found.secret_key is not None
        assert (found.api_key.get_secret_value(), found.secret_key.get_secret_value()) == (KEY, SECRET)


def test_keys_of_one_network_are_not_found_on_another(tmp_path: Path) -> None:
    run(machine_at(tmp_path), Terminalist([KEY, SECRET, ""]), "cursor", yes=True, network="testnet")

    entry = json.loads(file_of(tmp_path, "cursor").read_text())["mcpServers"]["binance"]
    assert entry["env"]["BINANCE_NETWORK"] == "testnet"
    assert read_settings({"HOME": str(tmp_path)}).api_key is None
    assert read_settings({"HOME": str(tmp_path), "BINANCE_NETWORK": "testnet"}).api_key is not None


def test_an_entry_keeps_its_network_and_is_never_given_the_keys_of_another(tmp_path: Path) -> None:
    machine, file = machine_at(tmp_path), file_of(tmp_path, "cursor")
    run(machine, Terminalist([KEY, SECRET, ""]), "cursor", yes=True, network="testnet")
    first = file.read_text()

    run(machine, Terminalist(), "cursor", yes=True, no_keys=True)
    again = file.read_text()
    run(machine, Terminalist(), "cursor", yes=True, no_keys=True, network="mainnet")

    assert again == first
    env = json.loads(file.read_text())["mcpServers"]["binance"]["env"]
    assert env == {"MCP_BINANCE_TOOLSETS": "essential"}


def test_a_key_file_of_ones_own_is_left_in_the_entry(tmp_path: Path) -> None:
    machine, file = machine_at(tmp_path), file_of(tmp_path, "cursor")
    run(machine, Terminalist([KEY, SECRET, ""]), "cursor", yes=True)
    entry = {"env": {"MCP_BINANCE_KEY_FILE": "/mine/keys"}}
    file.write_text(json.dumps({"mcpServers": {"binance": entry}}))

    run(machine, Terminalist(), "cursor", yes=True, no_keys=True)

    assert json.loads(file.read_text())["mcpServers"]["binance"]["env"] == entry["env"]


@pytest.mark.parametrize(
    "other",
    [
        '"env": {"GITHUB_TOKEN": "CaNaRyOther"}',
        '"args": ["--api-key", "CaNaRyOther"]',
        '"args": ["--token=CaNaRyOther"]',
        '"headers": {"Authorization": "Bearer CaNaRyOther"}',
        '"args": ["CaNaRyOther0123456789ab"]',
        "\"password\": 'CaNaRyOther'",
    ],
)
def test_the_secrets_of_other_servers_are_not_shown(other: str) -> None:
    before = f'{{"servers": {{"other": {{"command": "npx", {other}}}}}}}'.replace("'", '"')

    shown = plan_addition(CLIENTS["vscode"], LINUX, before, name="binance", environment={}).diff()

    assert "CaNaRyOther" not in "".join(shown)
    assert any('"command": "npx"' in line for line in shown)


def test_a_private_key_stays_where_it_is(tmp_path: Path) -> None:
    pem = tmp_path / "my key.pem"
    pem.write_text("-----BEGIN PRIVATE KEY-----\n")

    run(machine_at(tmp_path), Terminalist([KEY, str(pem), ""]), "cursor", yes=True)

    assert f"BINANCE_PRIVATE_KEY_FILE={pem}\n" in (tmp_path / ".config/mcp-binance-server/keys-mainnet.env").read_text()


def test_an_empty_answer_keeps_the_stored_keys(tmp_path: Path) -> None:
    run(machine_at(tmp_path), Terminalist([KEY, SECRET, CHART_KEY]), "cursor", yes=True)
    before = written(tmp_path)
    person = Terminalist(["", ""])

    run(machine_at(tmp_path), person, "cursor", yes=True)

    assert "K1K1****K1K1" in person.seen
    assert "already up to date" in person.seen
    assert written(tmp_path) == before


def test_what_is_no_key_is_not_stored(tmp_path: Path) -> None:
    person = Terminalist(["too-short", "x" * 63, "y y"])

    with pytest.raises(SettingsError, match="no API key was entered"):
        run(machine_at(tmp_path), person, "cursor", yes=True)

    assert "63 characters" in person.seen
    assert written(tmp_path) == {}


def test_what_is_no_secret_is_not_stored(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no secret was entered"):
        run(machine_at(tmp_path), Terminalist([KEY, "", "/no/such.pem", "a b"]), "cursor", yes=True)

    assert written(tmp_path) == {}


@pytest.mark.parametrize("answers", [["n"], [""], []])
def test_without_a_yes_nothing_is_written(answers: list[str], tmp_path: Path) -> None:
    person = Terminalist([KEY, SECRET, ""], answers)

    assert run(machine_at(tmp_path), person, "cursor") == 1
    assert "Nothing was written." in person.seen
    assert written(tmp_path) == {}


def test_a_new_entry_of_cursor_lists_few_tools_and_a_changed_one_is_kept(tmp_path: Path) -> None:
    machine, file = machine_at(tmp_path), file_of(tmp_path, "cursor")
    run(machine, Terminalist(), "cursor", yes=True, no_keys=True)
    first = json.loads(file.read_text())["mcpServers"]["binance"]
    file.write_text(json.dumps({"mcpServers": {"binance": {**first, "env": {"MCP_BINANCE_TOOLSETS": "market"}}}}))
    run(machine, Terminalist(), "cursor", yes=True, no_keys=True)
    second = json.loads(file.read_text())["mcpServers"]["binance"]
    file.write_text(json.dumps({"mcpServers": {"binance": {**first, "env": {}}}}))
    run(machine, Terminalist(), "cursor", yes=True, no_keys=True)
    third = json.loads(file.read_text())["mcpServers"]["binance"]

    assert first["env"] == {"MCP_BINANCE_TOOLSETS": "essential"}
    assert second["env"] == {"MCP_BINANCE_TOOLSETS": "market"}
    assert "env" not in third


@pytest.mark.parametrize("client", ["cline", "continue"])
def test_a_new_entry_of_a_client_that_shows_no_pictures_asks_for_links(client: str, tmp_path: Path) -> None:
    machine = machine_at(tmp_path)
    run(machine, Terminalist(), client, yes=True, no_keys=True)
    (first,), _ = our_entries(machine)
    run(machine, Terminalist(), client, yes=True, no_keys=True)
    (again,), _ = our_entries(machine)

    assert first.variables == again.variables == {"MCP_BINANCE_CHART_IMAGES": "link"}


@pytest.mark.parametrize("client", ["claude-code", "opencode", "vibe"])
def test_every_client_can_list_few_tools(client: str, tmp_path: Path) -> None:
    machine = machine_at(tmp_path)
    run(machine, Terminalist(), client, yes=True, no_keys=True)
    (usual,), _ = our_entries(machine)
    run(machine, Terminalist(), client, yes=True, no_keys=True, essential=True)
    (few,), _ = our_entries(machine)

    assert usual.variables == {}
    assert few.variables == {"MCP_BINANCE_TOOLSETS": "essential"}
    assert (few.command, few.args) == (usual.command, usual.args) == (machine.launcher.command, ())


def test_the_entry_of_opencode_has_one_list_and_time_to_start(tmp_path: Path) -> None:
    machine, file = machine_at(tmp_path), file_of(tmp_path, "opencode")
    run(machine, Terminalist(), "opencode", yes=True, no_keys=True, network="testnet")
    written_once = json.loads(file.read_text())["mcp"]["binance"]
    file.write_text(json.dumps({"mcp": {"binance": {**written_once, "timeout": 9_000, "enabled": False}}}))
    run(machine, Terminalist(), "opencode", yes=True, no_keys=True)
    (entry,), _ = our_entries(machine)

    assert written_once == {
        "type": "local",
        "command": ["/usr/local/bin/mcp-binance-server"],
        "timeout": 60_000,
        "environment": {"BINANCE_NETWORK": "testnet"},
    }
    assert (entry.start_secs, entry.is_disabled) == (9.0, True)


@pytest.mark.parametrize(
    ("client", "secs", "slow_secs"),
    [("claude-code", 30, 30), ("codex", 10, 60), ("gemini", 600, 600), ("opencode", 60, 60), ("cline", 60, 60),
     ("vibe", 10, 60)],
)  # fmt: skip
def test_an_entry_has_time_for_a_download_where_a_client_lets_it(
    client: str, secs: float, slow_secs: float, tmp_path: Path
) -> None:
    usual = machine_at(tmp_path)
    run(usual, Terminalist(), client, yes=True, no_keys=True)
    (entry,), _ = our_entries(usual)
    slow = replace(usual, launcher=Launcher("/usr/bin/uvx", ("mcp-binance-server",)))
    run(slow, Terminalist(), client, yes=True, no_keys=True)
    (again,), _ = our_entries(slow)

    assert (entry.start_secs, again.start_secs) == (secs, slow_secs)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_run_changes_nothing_and_removal_restores(client: str, tmp_path: Path) -> None:
    file = file_of(tmp_path, client)
    file.parent.mkdir(parents=True, exist_ok=True)
    before = {
        "codex": '[mcp_servers.other]\ncommand = "o"\n',
        "vibe": 'active_model = "m"\n\n[[mcp_servers]]\nname = "other"\ntransport = "stdio"\ncommand = "o"\n',
    }.get(client, '{\n  "theme": "dark"\n}\n')
    file.write_text(before)

    run(machine_at(tmp_path), Terminalist(), client, yes=True, no_keys=True)
    once = written(tmp_path)
    run(machine_at(tmp_path), Terminalist(), client, yes=True, no_keys=True)
    twice = written(tmp_path)
    run(machine_at(tmp_path), Terminalist(), client, yes=True, remove=True)

    assert twice == once
    assert file.read_text() == before


def test_the_old_file_is_kept_with_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles/mcp.json"
    target.parent.mkdir()
    target.write_text('{"mcpServers": {}}')
    target.chmod(0o640)
    link = file_of(tmp_path, "cursor")
    link.parent.mkdir()
    link.symlink_to(target)

    run(machine_at(tmp_path), Terminalist(), "cursor", yes=True, no_keys=True)
    run(machine_at(tmp_path), Terminalist(), "cursor", yes=True, remove=True)

    first, second = sorted(link.parent.glob("mcp.json.*.bak"))
    assert link.is_symlink()
    assert {first.read_text(), second.read_text()} > {'{"mcpServers": {}}'}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (first, second, target)} == {0o640}


def test_a_key_in_plain_text_is_taken_out_and_not_shown(tmp_path: Path) -> None:
    file = file_of(tmp_path, "cursor")
    file.parent.mkdir()
    old = {
        "url": "http://x",
        "env": {"BINANCE_API_KEY": KEY, "BINANCE_SECRET_KEY": SECRET, "MCP_BINANCE_TOOLSETS": "a"},
    }
    file.write_text(
        json.dumps({"mcpServers": {"gh": {"env": {"GITHUB_TOKEN": "ghp_Other"}}, "binance": old}}, indent=1)
    )
    person = Terminalist([KEY, SECRET, ""])

    run(machine_at(tmp_path), person, "cursor", yes=True)

    entry = json.loads(file.read_text())["mcpServers"]["binance"]
    assert SECRET[:9] not in person.seen
    assert "ghp_Other" not in person.seen
    assert "contains a key in plain text" in person.seen
    assert set(entry) == {"command", "args", "env"}
    assert set(entry["env"]) == {"MCP_BINANCE_TOOLSETS", "MCP_BINANCE_KEY_FILE"}


def test_without_storing_keys_an_old_key_is_left_and_mentioned(tmp_path: Path) -> None:
    file = file_of(tmp_path, "cursor")
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": {"binance": {"env": {"BINANCE_API_KEY": KEY}}}}))
    person = Terminalist()

    run(machine_at(tmp_path), person, "cursor", yes=True, no_keys=True)

    assert "--no-keys to move it" in person.seen
    assert KEY[:9] not in person.seen
    assert KEY in file.read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [(b'{"a": 1,}', "mcp.json:1:9: a comma is not allowed"), (b"\xff{}", "not UTF-8"), (None, "Is a directory")],
)
def test_a_file_that_cannot_be_edited_is_refused_before_any_key_is_typed(
    content: bytes | None, said: str, tmp_path: Path
) -> None:
    file = file_of(tmp_path, "cursor")
    file.parent.mkdir()
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    person = Terminalist()

    assert run(machine_at(tmp_path), person, "cursor", yes=True) == 1
    assert said in person.seen
    assert "Nothing was changed" in person.seen
    assert list(tmp_path.rglob("*.env")) == []


def test_a_file_that_changes_while_somebody_thinks_is_not_overwritten(tmp_path: Path) -> None:
    file = file_of(tmp_path, "cursor")
    file.parent.mkdir()
    file.write_text("{}")
    person = Terminalist()
    talk = person.talk()

    def meanwhile(_question: str) -> str:
        file.write_text('{"new": 1}')
        return "y"

    person.talk = lambda: types.SimpleNamespace(say=talk.say, ask=meanwhile, ask_secret=talk.ask_secret)  # type: ignore[method-assign, return-value, assignment]

    assert run(machine_at(tmp_path), person, "cursor", no_keys=True) == 1
    assert "the file has changed" in person.seen
    assert file.read_text() == '{"new": 1}'


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    person = Terminalist()

    assert run(machine_at(tmp_path), person, "cursor", yes=True, no_keys=True) == 1
    assert "Permission denied" in person.seen
    tmp_path.chmod(0o700)


def test_removal_leaves_keys_and_says_how_to_delete_them(tmp_path: Path) -> None:
    run(machine_at(tmp_path), Terminalist([KEY, SECRET, ""]), "cursor", yes=True)
    person = Terminalist()

    run(machine_at(tmp_path), person, "cursor", yes=True, remove=True)

    store = tmp_path / ".config/mcp-binance-server/keys-mainnet.env"
    assert store.exists()
    assert f"rm {store}" in person.seen
    assert json.loads(file_of(tmp_path, "cursor").read_text()) == {}


@pytest.mark.night
@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is a Unix thing")
def test_at_a_terminal_what_is_typed_is_not_shown(tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    environment = clean_environment({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "NO_COLOR": "1"})
    environment["BINANCE_REST_URL"] = "http://127.0.0.1:9"  # nobody listens there
    process = subprocess.Popen(
        [*COMMAND, "setup", "--client", "cursor", "--network", "testnet"],
        stdin=end, stdout=end, stderr=end, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(end)

    said = ""
    questions = ("API key (Enter: none): ", "(PEM): ", "com key (Enter: none): ", "[y/N] ")
    for question, typed in zip(questions, (KEY, SECRET, "", "y"), strict=True):
        said += read_until(terminal, question)
        os.write(terminal, f"{typed}\n".encode())
    said += read_until(terminal, "testnet python -m mcp_binance_server doctor")

    assert process.wait(60) == 0
    os.close(terminal)
    assert KEY[:9] not in said
    assert SECRET[:9] not in said
    assert "The key could not be tested" in said
    assert "Make a key at https://testnet.binance.vision/" in said
    assert max(len(line) for line in said.replace(str(tmp_path), "~").splitlines()) <= 80
    assert SECRET in (tmp_path / ".config/mcp-binance-server/keys-testnet.env").read_text()


class FakeKeyring(types.ModuleType):
    """A keyring as the package of that name offers it."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self.__spec__ = types.SimpleNamespace()  # type: ignore[assignment]

    def set_password(self, service: str, user: str, password: str) -> None:
        self.kept[service, user] = password

    def get_password(self, service: str, user: str) -> str | None:
        return self.kept.get((service, user))


def test_a_keyring_is_used_when_it_is_there_and_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = FakeKeyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)

    run(machine_at(tmp_path), Terminalist([KEY, SECRET, ""]), "cursor", yes=True, keyring=True)

    assert not any(SECRET in text or KEY in text for text in written(tmp_path).values())
    found = read_settings({"HOME": str(tmp_path)})
    assert found.secret_key is not None
    assert found.secret_key.get_secret_value() == SECRET
    keyring.kept.clear()
    with pytest.raises(SettingsError, match="missing from the keyring"):
        read_settings({"HOME": str(tmp_path)})


def test_a_keyring_that_is_not_there_is_not_needed_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)

    with pytest.raises(SettingsError, match="pip install keyring"):
        run(machine_at(tmp_path), Terminalist(), "cursor", yes=True, keyring=True)
    assert run(machine_at(tmp_path), Terminalist(), "cursor", yes=True, no_keys=True) == 0


def test_a_name_that_no_client_takes_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["setup", "--client", "cursor", "--name", "my server"])

    assert left.value.code == 2
    assert "letters, digits" in capsys.readouterr().err


def test_the_command_writes_into_this_home_and_asks_for_no_keys_without_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    code = main(["setup", "--client", "cursor", "--yes"])

    assert code == 0
    assert "asks for no keys" in capsys.readouterr().out
    command = json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["binance"]["command"]
    assert Path(command).is_absolute()
    assert Path(command).exists()


@pytest.mark.night
def test_the_first_start_after_setup_compiles_little(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    changed = {"HOME": str(tmp_path), "PYTHONPYCACHEPREFIX": str(cache), "PYTHONDONTWRITEBYTECODE": ""}
    command = [*COMMAND, "setup", "--client", "cursor", "--yes", "--no-keys"]
    subprocess.run(command, env=clean_environment(changed), stdin=subprocess.DEVNULL, check=True, timeout=120)
    compiled = {*cache.rglob("*.pyc")}

    with Process(environment=changed) as server:
        server.shake_hands()
        answer = server.ask(1, "completion/complete", COMPLETION)
        server.close_input()
        server.wait()

    assert answer["result"]
    later = {*cache.rglob("*.pyc")} - compiled
    assert len(later) < len(compiled) / 10
    assert any(path.name.startswith("catalogue.") for path in compiled)
