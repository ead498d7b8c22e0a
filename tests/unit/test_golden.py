"""Golden files and asserts of helpers: a failure shows what differs."""

import sys
from pathlib import Path

import pytest

from support import golden as module
from support.golden import MOST_LINES, Golden, difference

TESTS = Path(__file__).parents[1]
KEPT = "\n".join(f"line {number}" for number in range(200)) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    (tmp_path / "page.md").write_text(KEPT, encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_golden_failure_shows_the_lines_that_differ() -> None:
    with pytest.raises(AssertionError) as caught:
        Golden(write=False).check("page.md", KEPT.replace("line 100\n", "another\n"))

    assert str(caught.value).splitlines() == [
        "page.md changed; if that is meant, run pytest --golden-write",
        "--- reviewed", "+++ now", "@@ -99,5 +99,5 @@", " line 98", " line 99", "-line 100", "+another", " line 101",
        " line 102",
    ]  # fmt: skip


def test_a_long_difference_is_cut() -> None:
    lines = difference(KEPT, KEPT.replace("line", "row")).splitlines()

    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == f"… {403 - MOST_LINES} more lines"
    assert max(map(len, difference("a" * 9_000, "b").splitlines())) < 500


def test_a_difference_of_line_ends_alone_is_named() -> None:
    assert difference("a\n", "a") == "only line ends differ"


def test_an_equal_text_passes_and_a_new_one_is_written(folder: Path) -> None:
    Golden(write=False).check("page.md", KEPT)
    Golden(write=True).check("new.json", {"b": 1, "a": "→"})

    assert (folder / "new.json").read_text(encoding="utf-8") == '{\n  "a": "→",\n  "b": 1\n}\n'


def test_asserts_of_every_helper_show_their_values() -> None:
    ours = {name: each for name, each in sys.modules.items() if _is_helper(getattr(each, "__file__", None))}

    plain = [name for name, each in ours.items() if type(each.__loader__).__name__ != "AssertionRewritingHook"]

    assert "support.golden" in ours
    assert plain == []


def _is_helper(file: str | None) -> bool:
    return file is not None and Path(file).is_relative_to(TESTS)
