"""A proxy that cannot be used is one line for every command; one that refuses is told, and its password never."""

import sys

import pytest

from mcp_binance_server.cli.main import main
from support.loopback_proxy import proxy_beside
from support.process import run_warm

CANARY = "CaNaRyPassword"
ASK = ("ask", "get_ticker", "symbol=BTCUSDT")


@pytest.mark.parametrize("command", [ASK, ("serve",), ("doctor", "--json")], ids=lambda each: each[0])
def test_socks_without_the_extra_is_one_line_and_no_traceback(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.delenv("all_proxy", raising=False)
    monkeypatch.setenv("ALL_PROXY", f"socks5://me:{CANARY}@127.0.0.1:1")

    code = main([*(command if command != ("serve",) else ())])

    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert code == (1 if command[0] == "doctor" else 2)
    assert "ALL_PROXY: a SOCKS proxy needs the extra socks; install it with: " in said
    assert "Traceback" not in said
    assert CANARY not in said
    if command[0] != "doctor":
        assert captured.out == ""
        assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_refusal_names_the_proxy_and_no_log_has_its_password(scheme: str) -> None:
    with proxy_beside(0, login=("me", "another")) as proxy:
        value = proxy.with_login("me", CANARY, scheme)
        done = run_warm(*ASK, environment={"ALL_PROXY": value, "MCP_BINANCE_LOG_LEVEL": "DEBUG"})

    said = (done.stdout + done.stderr).decode()
    assert done.returncode != 0
    assert f"Binance was not reached: the proxy 127.0.0.1:{proxy.port} (ALL_PROXY) " in said
    assert "proxy_unavailable" in said
    assert "Traceback" not in said
    assert CANARY not in said
    assert proxy.passed == []


def test_a_variable_that_is_not_read_is_a_warning_at_the_start() -> None:
    done = run_warm(environment={"WSS_PROXY": f"http://me:{CANARY}@127.0.0.1:1"})

    assert b"WSS_PROXY: ignored; set the proxy of all connections in HTTPS_PROXY or ALL_PROXY" in done.stderr
    assert CANARY.encode() not in done.stderr
