"""What a public clone cannot prove is counted: a test that is skipped there for want of a file says so and is few."""

from pathlib import Path

import pytest

from support.fixtures import COLLECTED, UNPUBLISHED

TESTS = Path(__file__).parent


def test_as_many_tests_need_the_unpublished_as_are_registered(pytestconfig: pytest.Config) -> None:
    collected = pytestconfig.stash[COLLECTED]
    registered = {name: each.tests for name, each in UNPUBLISHED.items()}

    if {*TESTS.rglob("test_*.py")} <= collected.files:
        assert collected.needed == registered
    else:  # a part of the tests was asked for
        assert all(collected.needed[name] <= tests for name, tests in registered.items())
