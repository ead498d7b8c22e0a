"""The official suite against its own fixtures, served by our HTTP application: every scenario that applies passes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.not_applicable import NOT_APPLICABLE, WARNED
from conformance.suite import UNMEASURED, Suite, installed, said
from support.process import Process

pytestmark = pytest.mark.flood

TESTS = Path(__file__).parent.parent
SERVE = f"import sys; sys.path.insert(0, {str(TESTS)!r}); from conformance.app import main; main()"
# How many scenarios the suite has for each revision, so that none is left out in silence.
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50}


@pytest.fixture(scope="module")
def suite() -> Suite:
    return installed()


@pytest.fixture(scope="module")
def address(suite: Suite) -> Iterator[str]:  # noqa: ARG001 - without a suite nothing needs to be served
    with Process(code=SERVE, environment=UNMEASURED, warm=True) as app:
        yield app.line().decode()
        assert app.terminate() == 0


@pytest.mark.slow
@pytest.mark.parametrize("revision", SCENARIOS)
def test_every_scenario_of_a_revision_passes_unless_it_does_not_apply(
    suite: Suite, address: str, revision: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = suite.play(address, tmp_path / "results", "--requirements", revision)

    applicable = [scenario for name, scenario in played.items() if name not in NOT_APPLICABLE]
    warned = {(each.name, check.id) for each in applicable for check in each.having("WARNING")}
    said(capsys, f"conformance {revision}, fixtures", applicable, f"{len(played) - len(applicable)} do not apply")
    assert len(played) == SCENARIOS[revision]
    assert [str(scenario) for scenario in applicable if not scenario.has_passed] == []
    assert warned == {(name, check) for name, check in WARNED if name in played}


@pytest.mark.night
@pytest.mark.slow
def test_a_scenario_that_does_not_apply_exists_and_does_not_pass(suite: Suite, address: str, tmp_path: Path) -> None:
    played = suite.play(address, tmp_path / "results", "--suite", "pending")

    assert NOT_APPLICABLE.keys() - played.keys() == set()
    assert [name for name in NOT_APPLICABLE if played[name].has_passed] == []
