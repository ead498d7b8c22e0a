"""Which engine the settings ask for, and what that costs one who does not ask."""

import subprocess
import sys

import pytest

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import read_settings
from mcp_binance_server.state.engine_factory import open_engine
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock

LAPTOP = """
import anyio, sys
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings

async def main():
    async with running_app(read_settings({})):
        pass

anyio.run(main)
print(sorted(name for name in sys.modules if name.split(".")[0] in ("redis", "hiredis") or ".fleet" in name))
"""

WITHOUT = """
import sys
sys.modules["redis"] = None
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.state.engine_factory import open_engine
try:
    open_engine("redis://127.0.0.1", SystemClock())
except SettingsError as error:
    print(error.message)
"""


def said(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_without_a_setting_the_engine_is_the_process_own_memory() -> None:
    settings = read_settings({})

    engine = open_engine(settings.state_url.get_secret_value(), FakeClock())

    assert isinstance(engine, MemoryEngine)


@pytest.mark.parametrize("url", ["redis://h:6379/1", "rediss://user:canary@h", "unix:///run/redis.sock?db=2"])
async def test_the_address_of_a_server_asks_for_the_engine_of_a_fleet(url: str) -> None:
    pytest.importorskip("redis", reason="the extra fleet is not installed")
    settings = read_settings({"MCP_BINANCE_STATE_URL": f" {url} "})

    engine = open_engine(settings.state_url.get_secret_value(), FakeClock())

    assert type(engine).__name__ == "RedisEngine"
    assert "canary" not in f"{engine!r}{settings!r}"


@pytest.mark.parametrize("url", ["memory", "http://h", "localhost:6379"])
def test_any_other_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({"MCP_BINANCE_STATE_URL": url})

    assert "MCP_BINANCE_STATE_URL" in caught.value.message
    assert "redis://" in caught.value.message


def test_a_server_on_a_laptop_imports_no_redis() -> None:
    assert said(LAPTOP).strip() == "[]"


def test_without_the_extra_the_message_says_what_to_install() -> None:
    assert "pip install 'mcp-binance-server[fleet]'" in said(WITHOUT)
