"""Which event loop serves HTTP."""

import sys
from importlib.util import find_spec

import pytest

from mcp_binance_server.cli.serve_http import fastest_loop


@pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")
def test_the_faster_loop_is_taken_where_it_is_installed() -> None:
    assert fastest_loop() == {"use_uvloop": True}


def test_without_it_http_is_served_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)

    assert fastest_loop() == {}
