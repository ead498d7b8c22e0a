"""A key file is read by its owner alone, and never wins over the environment."""

import os
from pathlib import Path

import pytest

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.key_file import key_file_of, read_keys, written
from mcp_binance_server.own_folders import config_folder
from mcp_binance_server.settings import read_settings

KEY, SECRET = "K" * 64, "CaNaRy0123456789" * 4


def private(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    keys = {"BINANCE_API_KEY": KEY, "BINANCE_SECRET_KEY": SECRET, "CHART_IMG_API_KEY": "chart"}

    assert read_keys(private(tmp_path / "keys.env", written(keys))) == keys


def test_quotes_blanks_remarks_and_export_are_allowed(tmp_path: Path) -> None:
    text = f"\ufeff# mine\n\n export BINANCE_API_KEY = '{KEY}'\nBINANCE_SECRET_KEY=\"{SECRET}\"\r\nCHART_IMG_API_KEY=\n"

    assert read_keys(private(tmp_path / "keys.env", text)) == {"BINANCE_API_KEY": KEY, "BINANCE_SECRET_KEY": SECRET}


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o620])
def test_a_file_that_others_can_read_is_refused_and_the_mend_named(mode: int, tmp_path: Path) -> None:
    file = private(tmp_path / "keys.env", f"BINANCE_API_KEY={KEY}\nBINANCE_SECRET_KEY={SECRET}\n")
    file.chmod(mode)

    with pytest.raises(SettingsError, match="chmod 600") as refused:
        read_settings({"MCP_BINANCE_KEY_FILE": str(file)})

    assert str(file) in refused.value.message
    assert SECRET[:9] not in refused.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"BINANCE_API_KEY={KEY}\n{SECRET}\n", "line 2 is not NAME=VALUE"),
        (f"{SECRET}={SECRET}\n", "line 1 does not set one of"),
        ("BINANCE_NETWORK=testnet\n", "line 1 does not set one of"),
    ],
)
def test_a_line_that_means_nothing_is_named_and_not_shown(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=said) as refused:
        read_keys(private(tmp_path / "keys.env", text))

    assert SECRET[:9] not in refused.value.message


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    binary = private(tmp_path / "binary", "")
    binary.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(SettingsError, match="No such file"):
        read_settings({"MCP_BINANCE_KEY_FILE": str(tmp_path / "none")})
    with pytest.raises(SettingsError, match="not a text file"):
        read_keys(binary)


def test_the_environment_wins_as_a_pair(tmp_path: Path) -> None:
    file = private(tmp_path / "k", f"BINANCE_API_KEY={KEY}\nBINANCE_SECRET_KEY={SECRET}\nCHART_IMG_API_KEY=chart\n")
    named = {"MCP_BINANCE_KEY_FILE": str(file)}

    both = read_settings({**named, "BINANCE_API_KEY": "own", "BINANCE_API_SECRET": "mine"})

    assert both.secret_key is not None
    assert both.secret_key.get_secret_value() == "mine"
    assert both.chart_key is not None
    with pytest.raises(SettingsError, match="belong together"):
        read_settings({**named, "BINANCE_API_KEY": "own"})


def test_the_usual_place_follows_the_system_and_the_network(tmp_path: Path) -> None:
    own = private(tmp_path / ".config/mcp-binance-server/keys-demo.env", f"BINANCE_API_KEY={KEY}\n")

    assert key_file_of({"HOME": str(tmp_path), "BINANCE_NETWORK": "demo"}) == own
    assert key_file_of({"HOME": str(tmp_path)}) is None
    assert key_file_of({}) is None
    assert config_folder({"APPDATA": "/roaming", "HOME": "/h"}, "win32") == Path("/roaming/mcp-binance-server")
    assert config_folder({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "linux") == Path("/x/mcp-binance-server")


def test_a_keyring_that_is_asked_for_but_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)

    with pytest.raises(SettingsError, match="keyring is not installed"):
        read_keys(private(tmp_path / "keys.env", "BINANCE_API_KEY=@keyring\n"))
