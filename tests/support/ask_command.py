"""`ask` in this process: what it printed, and the exit code."""

from dataclasses import dataclass

import pytest

from mcp_binance_server.cli.main import main
from support.exchange_socket import ServedExchange
from support.process import clean_environment


@dataclass(frozen=True, slots=True)
class Done:
    returncode: int
    stdout: bytes
    stderr: bytes


class Asker:
    """Asks in this process, with an environment of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[bytes]) -> None:
        self._monkeypatch, self._captured = monkeypatch, captured

    def __call__(self, *words: str, served: ServedExchange | None = None, **environment: str) -> Done:
        with self._monkeypatch.context() as patch:
            patch.setattr("os.environ", clean_environment({**(served.environment() if served else {}), **environment}))
            code = main(["ask", *words])
        said = self._captured.readouterr()
        return Done(code, said.out, said.err)
