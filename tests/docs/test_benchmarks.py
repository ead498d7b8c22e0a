"""The benchmark page names programs and tests that exist."""

import re

from support.pages import ROOT


def test_every_command_of_the_benchmark_page_exists() -> None:
    text = (ROOT / "docs" / "design" / "benchmarks.md").read_text(encoding="utf-8")
    words = {word for command in re.findall(r"`([^`]+)`", text) for word in command.split()}
    files = {word for word in words if word.startswith(("scripts/", "tests/", "benchmarks/"))}

    assert len(files) > 10
    assert [file for file in files if not (ROOT / file).is_file()] == []
