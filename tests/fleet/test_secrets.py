"""The password of the state server is in no log, no error and no repr."""

import logging

import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import EngineUnavailable, SettingsError
from mcp_binance_server.state.engine_factory import open_engine
from support.state_server import Connect, StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_engines")]

PASSWORD = "canary-Zx81QpLm0aVb"  # noqa: S105 - made up, to be looked for


@pytest.mark.parametrize(
    "url",
    [
        f"redis://:{PASSWORD}@127.0.0.1:not-a-port",
        f"redis://:{PASSWORD}@127.0.0.1:6379?socket_timeout=99",
        f"rediss://:{PASSWORD}@127.0.0.1:6379?ssl_cert_reqs=none",
        f"http://:{PASSWORD}@127.0.0.1",
        f"redis://:{PASSWORD}@[::1",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_engine(url, SystemClock())

    assert "MCP_BINANCE_STATE_URL" in caught.value.message
    assert PASSWORD not in caught.value.message


@pytest.mark.night
async def test_a_password_opens_the_server_and_is_shown_nowhere(
    server: StateServer, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.command("CONFIG", "SET", "requirepass", PASSWORD)
    engine = await connect(f"redis://:{PASSWORD}@127.0.0.1:{server.port}/3")
    await engine.put("k", b"v", ttl_ms=60_000)
    assert await engine.get("k") == b"v"

    wrong = await connect(f"redis://someone:{PASSWORD}-wrong@127.0.0.1:{server.port}")
    with pytest.raises(EngineUnavailable) as caught:
        await wrong.get("k")
    server.kill()
    with pytest.raises(EngineUnavailable):
        await engine.get("k")

    shown = [repr(engine), repr(wrong), repr(engine._link._address), str(caught.value), repr(caught.value), caplog.text]
    assert "AuthenticationError" in caplog.text
    assert not any(PASSWORD in each for each in shown)
    assert f"127.0.0.1:{server.port}" in repr(engine)
