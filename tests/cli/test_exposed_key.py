"""A key where strangers call and nobody is asked: the server does not start, and says what to set."""

from pathlib import Path

import pytest

from mcp_binance_server.cli.main import main

KEY = {"BINANCE_API_KEY": "k" * 64, "BINANCE_SECRET_KEY": "s" * 64}
PUBLIC = ("--host", "0.0.0.0")  # noqa: S104 - nothing listens: that is the point
TRANSPORTS = [("--http",), ("--sse",), ("--http", "--workers", "2"), ("--grpc",)]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEY.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("more", [(), ("--unsafe-no-auth",)])
def test_a_public_address_with_a_key_and_no_lock_is_refused(
    transport: tuple[str, ...], more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*transport, "--port", "0", *PUBLIC, *more])

    said = capsys.readouterr().err
    assert code == 2
    assert "--host 0.0.0.0 can be reached from other machines, and callers are not authenticated" in said
    assert "Set MCP_BINANCE_TOKEN_FILE (mcp-binance-server token new NAME --file FILE)" in said
    assert "kkkk" not in said


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_trusted_proxy_with_a_key_and_no_lock_is_refused(
    transport: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCP_BINANCE_TRUSTED_PROXIES", "127.0.0.1")

    code = main([*transport, "--port", "0"])

    said = capsys.readouterr().err
    assert code == 2
    assert "MCP_BINANCE_TRUSTED_PROXIES is set, so requests come through a proxy" in said
    assert "BINANCE_API_KEY gives access to your account" in said


def test_a_key_that_lies_in_a_file_is_named_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "keys.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in KEY.items()))
    file.chmod(0o600)
    for name in KEY:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MCP_BINANCE_KEY_FILE", str(file))

    code = main(["--http", "--port", "0", *PUBLIC, "--unsafe-no-auth"])

    assert code == 2
    assert f"the key in {file} gives access to your account" in capsys.readouterr().err
