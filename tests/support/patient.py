"""Whom the doctor examines in a test: an environment, and what was printed about it."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import pytest

from mcp_binance_server.cli.doctor.examination import examine
from mcp_binance_server.exchange.endpoints import NETWORKS, Network
from support.evidence import evidence_folder


class Patient:
    """An environment to be examined; every report is kept as evidence for the search for secrets."""

    def __init__(self, environment: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        self.environment = dict(environment)
        self.networks: Mapping[str, Network] = NETWORKS
        self._capsys = capsys

    def lines(self, **environment: str) -> tuple[int, str]:
        """Return the exit code and the report for people."""
        code = anyio.run(partial(examine, self._with(environment)))
        return code, self._said()

    def trouble(self, **environment: str) -> tuple[int, str]:
        """Return the exit code and the quiet report."""
        code = anyio.run(partial(examine, self._with(environment), is_quiet=True))
        return code, self._said()

    def report(self, **environment: str) -> dict[str, Any]:
        """Return the report for programs."""
        code = anyio.run(partial(examine, self._with(environment), as_object=True, networks=self.networks))
        report: dict[str, Any] = json.loads(self._said())
        assert code == (0 if report["healthy"] else 1)
        return report

    def _with(self, environment: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in (self.environment | dict(environment)).items() if value}

    def _said(self) -> str:
        said = self._capsys.readouterr().out
        with (evidence_folder() / "doctor.txt").open("a", encoding="utf-8") as file:
            file.write(said)
        return said


def rung(report: Mapping[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in report["rungs"] if each["id"] == name)


def statuses(report: Mapping[str, Any]) -> dict[str, str]:
    return {each["id"]: each["status"] for each in report["rungs"]}
