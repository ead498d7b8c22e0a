"""The state server over TLS: its certificate is checked."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mcp_binance_server.errors import EngineUnavailable
from support.state_server import Connect, free_port, state_server

pytestmark = pytest.mark.anyio


def certificate(folder: Path, *, valid_for: str) -> tuple[Path, Path]:
    """Write a certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "state")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(valid_for))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / f"{valid_for}.crt", folder / f"{valid_for}.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


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
