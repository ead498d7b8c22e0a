"""Which event loop serves HTTP."""

import socket
import sys
from importlib.util import find_spec

import pytest

from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.serve_http import fastest_loop


@pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")
def test_the_faster_loop_is_taken_where_it_is_installed() -> None:
    assert fastest_loop() == {"use_uvloop": True}


def test_without_it_http_is_served_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)

    assert fastest_loop() == {}


def test_a_port_that_is_taken_is_said_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code = main(["--http", "--port", str(taken.getsockname()[1])])

    assert code == 2
    said = capsys.readouterr().err
    assert "cannot listen on 127.0.0.1" in said
    assert "Traceback" not in said
