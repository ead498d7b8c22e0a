"""Both ways: no covered requirement without a test, no test for a requirement that is unknown or still planned."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from requirements.audit import Audit, audit, read_namings, tally
from requirements.contracts import SUBJECTS, demanded_ids, subject
from requirements.manifest import REQUIREMENTS
from requirements.record import Document, Requirement
from support.fixtures import CONTRACT_DOCUMENTS, UNPUBLISHED, needs
from support.requirement import requirement

TESTS = Path(__file__).parent
CONTRACTS = UNPUBLISHED[CONTRACT_DOCUMENTS].path
PREFIXES = {
    "resources": "resources/",
    "prompts": "prompts/",
    "guide": "guide/",
    "chart tools": "charts/",
    "data model": "data-model/",
    "rulings": "ruling/",
}


@pytest.fixture(scope="module")
def found() -> Audit:
    return audit(REQUIREMENTS, TESTS, TESTS.parent / "benchmarks")


def test_an_id_is_used_once(found: Audit) -> None:
    demand_none(found.duplicated, "These ids are used more than once:")


def test_a_test_names_only_known_requirements(found: Audit) -> None:
    demand_none(found.unknown, "These ids are named by a test and are in no table:")


def test_a_covered_requirement_is_named_by_a_test(found: Audit) -> None:
    demand_none(found.unproven, "These requirements are covered, and no test names them:")


def test_a_planned_requirement_is_named_by_no_test(found: Audit) -> None:
    demand_none(found.premature, "These requirements are planned, and a test names them; flip them to covered:")


def test_a_requirement_is_named_on_a_test_by_literal_ids(found: Audit) -> None:
    demand_none(found.unreadable, "These marks count for nothing:")


def test_rulings_and_only_rulings_have_a_divergence() -> None:
    wrong = [item.id for item in REQUIREMENTS if (item.kind == "ruling") != bool(item.divergence)]

    demand_none(wrong, "A ruling has a divergence and nothing else has one:")


def test_an_id_says_where_it_belongs() -> None:
    wrong = [item.id for item in REQUIREMENTS if not re.fullmatch(id_pattern(item), item.id)]

    demand_none(wrong, "An id is FR-000, SC-000 or the document's prefix and words:")


def test_a_behaviour_is_one_sentence() -> None:
    sentence = re.compile(r"\S.*[^.]\.")
    texts = [(item.id, text) for item in REQUIREMENTS for text in (item.behaviour, item.divergence) if text is not None]
    wrong = [f"{name}: {text}" for name, text in texts if not sentence.fullmatch(text) or ". " in text]

    demand_none(wrong, "These are not one sentence with a full stop:")


@needs(CONTRACT_DOCUMENTS)
def test_every_contract_document_has_all_its_entries() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(CONTRACTS.iterdir())]
    documents: dict[Document, str] = {document: text for text in texts if (document := subject(text)) is not None}

    demanded = {name for document, text in documents.items() for name in demanded_ids(document, text)}

    assert set(documents) == set(SUBJECTS.values())
    demand_none(sorted(demanded - known_ids()), "The contract documents have these, the tables do not:")


def test_a_document_demands_its_numbers_scenarios_tools_and_acceptance_lines() -> None:
    text = "\n".join(
        (
            "# Prompts API Contract",
            "**Requirements**: FR-001, SC-042",
            "### Requirement: Help Content",
            "#### Scenario: Document-only access",
            "## Tool 3: get_symbols",
            "**Acceptance Criteria** (User Story 4):",
            "1. **Given** one, **When** two, **Then** three",
            "**Acceptance Criteria** (User Story 4):",
            "1. **Given** four, **When** five, **Then** six",
            "1. Not an acceptance line",
        )
    )

    demanded = demanded_ids("prompts", text)

    assert subject(text) == "prompts"
    assert demanded == {
        "FR-001",
        "SC-042",
        "guide/help-content",
        "guide/document-only-access",
        "charts/get_symbols",
        "prompts/us4-1",
        "prompts/us4-2",
    }


def test_the_data_model_demands_its_rules_and_prompts() -> None:
    text = "1. `trading_analysis` - Analysis\n2. **Max Sessions**: Fifty\n- **Not** numbered\n"

    assert demanded_ids("data model", text) == {"data-model/prompt-trading-analysis", "data-model/max-sessions"}


def test_an_unknown_id_is_found(tmp_path: Path) -> None:
    write_test(tmp_path, '@requirement("FR-001", "FR-999")\nasync def test_it() -> None: ...\n')

    result = audit([entry("FR-001")], tmp_path)

    assert result == faults(unknown=("FR-999  (deep/test_fake.py:1)",))


def test_a_covered_requirement_without_a_test_is_found(tmp_path: Path) -> None:
    write_test(tmp_path, '@requirement("FR-001")\ndef test_it() -> None: ...\n')

    result = audit([entry("FR-001"), entry("FR-002"), entry("FR-003")], tmp_path)

    assert result == faults(unproven=("FR-002", "FR-003"))


def test_a_planned_requirement_with_a_test_is_found(tmp_path: Path) -> None:
    write_test(tmp_path, '\n@requirement("FR-001")\nclass TestIt: ...\n')

    result = audit([Requirement("FR-001", "prompts", "requirement", "It works.", "planned")], tmp_path)

    assert result == faults(premature=("FR-001  (deep/test_fake.py:2)",))


def test_an_id_used_twice_is_found(tmp_path: Path) -> None:
    write_test(tmp_path, '@requirement("FR-001")\ndef test_it() -> None: ...\n')

    result = audit([entry("FR-001"), entry("FR-001")], tmp_path)

    assert result == faults(duplicated=("FR-001",))


@pytest.mark.parametrize(
    "source",
    [
        "@requirement(NAME)\ndef test_it() -> None: ...\n",
        '@requirement("FR-001", *MORE)\ndef test_it() -> None: ...\n',
        '@requirement(id="FR-001")\ndef test_it() -> None: ...\n',
        "@requirement()\ndef test_it() -> None: ...\n",
        '@requirement("FR-001")\ndef helper() -> None: ...\n',
        '@requirement("FR-001")\nclass Fake: ...\n',
    ],
)
def test_a_mark_that_proves_nothing_is_found(tmp_path: Path, source: str) -> None:
    write_test(tmp_path, source)

    namings, unreadable = read_namings(tmp_path)

    assert namings == ()
    assert len(unreadable) == 1


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.requirement("FR-001")\ndef test_it() -> None: ...\n',
        'class TestIt:\n    @requirement("FR-001")\n    async def test_it(self) -> None: ...\n',
        'pytestmark = requirement("FR-001")\n',
        'pytestmark = [pytest.mark.slow, requirement("FR-001")]\n',
        'CASES = [pytest.param(1, marks=requirement("FR-001"))]\n',
        '@pytest.mark.parametrize("n", [pytest.param(1, marks=[requirement("FR-001")])])\ndef test_it(n: int): ...\n',
    ],
)
def test_a_mark_is_found_wherever_pytest_takes_one(tmp_path: Path, source: str) -> None:
    write_test(tmp_path, source)

    namings, unreadable = read_namings(tmp_path)

    assert [naming.id for naming in namings] == ["FR-001"]
    assert unreadable == ()


def test_a_mark_outside_a_test_file_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('@requirement("FR-001")\ndef test_it() -> None: ...\n', encoding="utf-8")

    result = audit([entry("FR-001")], tmp_path)

    assert result == faults(unproven=("FR-001",), unreadable=("conftest.py:1: test_it is not a test",))


def test_the_tally_counts_by_document_and_state() -> None:
    table = tally([entry("FR-001"), Requirement("SC-001", "guide", "success criterion", "It is fast.", "planned")])

    assert table.splitlines() == [
        "document     covered planned",
        "prompts            1       0",
        "guide              0       1",
        "together           1       1",
    ]


def test_the_decorator_is_the_requirement_mark() -> None:
    mark = requirement("FR-001", "FR-002").mark

    assert (mark.name, mark.args) == ("requirement", ("FR-001", "FR-002"))


def demand_none(faulty: Iterable[str], reason: str) -> None:
    lines = list(faulty)
    if lines:
        pytest.fail("\n".join((reason, *lines, "", tally(REQUIREMENTS))), pytrace=False)


def id_pattern(item: Requirement) -> str:
    return rf"(?:FR|SC)-\d{{3}}|{PREFIXES[item.document]}[a-z0-9_]+(?:[-/][a-z0-9_]+)*"


def known_ids() -> set[str]:
    return {item.id for item in REQUIREMENTS}


def entry(name: str) -> Requirement:
    return Requirement(name, "prompts", "requirement", "It works.", "covered")


def faults(
    *,
    duplicated: tuple[str, ...] = (),
    unknown: tuple[str, ...] = (),
    unproven: tuple[str, ...] = (),
    premature: tuple[str, ...] = (),
    unreadable: tuple[str, ...] = (),
) -> Audit:
    return Audit(duplicated, unknown, unproven, premature, unreadable)


def write_test(tests: Path, source: str) -> None:
    folder = tests / "deep"
    folder.mkdir()
    (folder / "test_fake.py").write_text(source, encoding="utf-8")
