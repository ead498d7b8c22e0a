"""The program that mutates: which changes it makes, and that its list of equivalent mutants is in date."""

from pathlib import Path
from types import CodeType

import pytest

from mutation.__main__ import equivalent_mutants, source_of
from mutation.python import SourceFile
from mutation.suite import codes_of, forked
from mutation.targets import TARGETS
from mutation.texts import ScriptFile, sql_changes

SOURCE = '''"""A limit."""

MOST = 5


def breaks(used: int, amount: int = 1) -> bool:
    """Tell whether a limit is passed."""
    if not amount:
        raise ValueError("nothing")
    return used + amount > MOST
'''


@pytest.fixture
def source(tmp_path: Path) -> SourceFile:
    path = tmp_path / "limit.py"
    path.write_text(SOURCE)
    return SourceFile(path)


def texts(source: SourceFile) -> set[str]:
    return {each.key.partition(":")[2] for each in source.mutants}


def test_numbers_bounds_operators_conditions_and_statements_are_changed(source: SourceFile) -> None:
    assert texts(source) == {
        "module: 5 -> 6",
        "module: 5 -> 4",
        "breaks: 1 -> 2",
        "breaks: 1 -> 0",
        "breaks: not amount -> amount",
        "breaks: raise ValueError('nothing') -> (removed)",
        "breaks: return used + amount > MOST -> return None",
        "breaks: used + amount > MOST -> used + amount >= MOST",
        "breaks: used + amount > MOST -> used + amount <= MOST",
        "breaks: used + amount > MOST -> used - amount > MOST",
    }


def test_a_mutant_is_one_change_and_leaves_the_source_as_it_was(source: SourceFile) -> None:
    before = source.compiled()
    changed = [source.compiled(each) for each in source.mutants]

    assert all(each != before for each in changed)
    assert source.compiled() == before
    assert source.path.read_text() == SOURCE


def test_only_the_code_of_the_changed_function_differs(source: SourceFile) -> None:
    def named(code: CodeType) -> dict[str, CodeType]:
        return {each.co_qualname: each for each in codes_of(code)}

    mutant = next(each for each in source.mutants if each.after.endswith(">= MOST"))
    before, after = named(source.compiled()), named(source.compiled(mutant))

    assert before.keys() == after.keys() == {"<module>", "breaks"}
    assert before["breaks"] != after["breaks"]
    assert (mutant.reach, mutant.scope, mutant.first_line) == ("function", "breaks", 10)


def test_a_statement_of_sql_has_each_of_its_words_changed() -> None:
    assert [*sql_changes("SELECT 1 FROM used WHERE day=? AND at>?")] == [
        "SELECT 1 FROM used WHERE day<>? AND at>?",
        "SELECT 1 FROM used WHERE day=? OR at>?",
        "SELECT 1 FROM used WHERE day=? AND at>=?",
        "SELECT 1 FROM used WHERE day=? AND at<=?",
    ]


def test_a_script_has_its_calls_removed_and_its_words_and_numbers_changed(tmp_path: Path) -> None:
    path = tmp_path / "one.lua"
    path.write_text("-- 1 == 2\nif redis.call('GET', '1') == 7 then return 0 end\nredis.call('DEL', 'x')\n")

    assert [(each.first_line, each.after) for each in ScriptFile(path).mutants] == [
        (2, "if redis.call('GET', '1') ~= 7 then return 0 end"),
        (2, "if redis.call('GET', '1') == 8 then return 0 end"),
        (2, "if redis.call('GET', '1') == 6 then return 0 end"),
        (2, "if redis.call('GET', '1') == 7 then return 1 end"),
        (3, "(removed)"),
    ]


def test_what_does_not_end_in_time_is_ended() -> None:
    def endless() -> None:
        while True:
            pass

    assert forked(endless, 0.2) is None
    assert forked(lambda: 7, 60) == 7


@pytest.mark.night
def test_names_are_unique_and_every_equivalent_mutant_still_exists() -> None:
    names = [each.key for target in TARGETS for path in target.paths for each in source_of(path).mutants]

    assert len({*names}) == len(names)
    assert {*equivalent_mutants()} - {*names} == set()
    assert all(reason.endswith(".") for reason in equivalent_mutants().values())


def test_every_test_that_must_notice_is_there() -> None:
    root = Path(__file__).parents[2]

    assert [name for target in TARGETS for name in target.tests if not (root / name).exists()] == []
