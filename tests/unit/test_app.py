"""The composition root: keys from files, and what a start refuses."""

import logging
from pathlib import Path

import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import read_settings
from mcp_binance_server.startup_checks import check, credentials_of
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.requirement import requirement


def environment(exchange: SimulatedExchange, key_file: Path) -> dict[str, str]:
    return {"BINANCE_API_KEY": exchange.account.ed25519_api_key, "BINANCE_PRIVATE_KEY_FILE": str(key_file)}


@requirement("ruling/23")
async def test_a_private_key_from_a_file_signs(tmp_path: Path, clock: FakeClock, exchange: SimulatedExchange) -> None:
    key_file = tmp_path / "key.pem"
    key_file.write_text(exchange.account.ed25519_private_key_pem)
    key_file.chmod(0o600)
    settings = read_settings(environment(exchange, key_file))

    async with running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as app:
        reading = await app.account.account()

    assert reading.value.can_trade


@pytest.mark.parametrize(("mode", "warns"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_key_file_that_others_can_read_is_warned_about(
    tmp_path: Path,
    exchange: SimulatedExchange,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
    mode: int,
    *,
    warns: bool,
) -> None:
    key_file = tmp_path / "key.pem"
    key_file.write_text(exchange.account.ed25519_private_key_pem)
    key_file.chmod(mode)

    with caplog.at_level(logging.WARNING):
        check(read_settings(environment(exchange, key_file)), clock)

    assert ("chmod 600" in caplog.text) is warns


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"not a key"])
async def test_a_key_file_that_cannot_be_used_stops_the_start_and_shows_nothing_of_it(
    tmp_path: Path, exchange: SimulatedExchange, content: bytes | None
) -> None:
    key_file = tmp_path / "key.pem"
    if content is not None:
        key_file.write_bytes(b"-----BEGIN PRIVATE KEY-----\n" + content)

    with pytest.raises(SettingsError) as caught:
        async with running_app(read_settings(environment(exchange, key_file))):
            pytest.fail("it must not start")

    assert "not a key" not in caught.value.message


def test_without_a_key_there_are_no_credentials() -> None:
    assert credentials_of(read_settings({})) is None


def test_a_file_where_the_state_folder_should_be_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")

    with pytest.raises(SettingsError, match=r"MCP_BINANCE_STATE_DIR: .+: not a folder"):
        check(read_settings({"MCP_BINANCE_STATE_DIR": str(tmp_path / "state")}), FakeClock())

    check(read_settings({"MCP_BINANCE_STATE_DIR": str(tmp_path)}), FakeClock())
