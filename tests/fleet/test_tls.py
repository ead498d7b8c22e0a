"""The state server over TLS: its certificate is checked."""

from pathlib import Path

import pytest

from mcp_binance_server.errors import EngineUnavailable
from support.certificates import certificate
from support.state_server import Connect, free_port, state_server

pytestmark = pytest.mark.anyio


@pytest.mark.night
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(("valid_for", "trusted", "works"), [
    ("127.0.0.1", True, True),
    ("127.0.0.1", False, False),
    ("127.0.0.2", True, False),
])  # fmt: skip
async def test_only_a_certificate_for_this_host_from_a_trusted_hand_will_do(
    connect: Connect, tmp_path: Path, valid_for: str, *, trusted: bool, works: bool
) -> None:
    shown, key = certificate(tmp_path, valid_for=valid_for)
    port = free_port()
    options = ("--tls-port", str(port), "--tls-cert-file", str(shown), "--tls-key-file", str(key))
    with state_server(*options, "--tls-auth-clients", "no"):
        authority = f"?ssl_ca_certs={shown}" if trusted else ""
        engine = await connect(f"rediss://127.0.0.1:{port}{authority}")

        if works:
            await engine.put("k", b"v", ttl_ms=60_000)
            assert await engine.get("k") == b"v"
        else:
            with pytest.raises(EngineUnavailable):
                await engine.get("k")
