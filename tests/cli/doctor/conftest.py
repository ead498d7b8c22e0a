"""An exchange on a socket, and a patient: an environment that the doctor examines in this process."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.exchange_socket import ServedExchange, served_exchange
from support.patient import Patient


@pytest.fixture(scope="module")
def socket_exchange() -> Iterator[ServedExchange]:
    with served_exchange() as served:
        yield served


@pytest.fixture
def served(socket_exchange: ServedExchange) -> Iterator[ServedExchange]:
    socket_exchange.heal()
    yield socket_exchange
    socket_exchange.heal()


@pytest.fixture
def patient(served: ServedExchange, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Patient:  # noqa: ANN401 - pytest's own
    environment: Mapping[str, str] = {**served.environment(), "HOME": str(tmp_path)}
    monkeypatch.setenv("HOME", str(tmp_path))
    return Patient(environment, capsys)
