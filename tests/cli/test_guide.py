"""`guide check`: a person learns what a file means, or which line is wrong."""

from pathlib import Path

import pytest

from mcp_binance_server.cli.main import main
from support.guides import GuideFolder


@pytest.fixture(autouse=True)
def nobodys_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MCP_BINANCE_GUIDE_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_a_good_file_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = GuideFolder(tmp_path).configure("version: 1\nroots: [guides, gone]\ncategories: {desk: }\n")
    folder.write("desk/a.md", "# A\n")
    folder.write("risk/risk-policy.md", "# Mine\n")

    code = main(["guide", "check", str(folder.config)])

    said = capsys.readouterr().out.splitlines()
    assert code == 0
    assert said[0] == f"{folder.config}: valid"
    assert f"root        {folder.root}" in said
    assert "category    desk             1 yours, 0 built in" in said
    assert "category    risk             1 yours, 2 built in" in said
    assert "collection  before-trading   risk trading" in said
    assert "hidden      risk/risk-policy.md (built in)" in said
    assert "warning     root 2 of the configuration is not a folder and is skipped" in said


def test_mistakes_are_told_with_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "guide.yaml"
    file.write_text("version: 1\ncategories:\n  risk: {dir: ../x}\n  desk: {patterns: ['[a']}\n")

    code = main(["guide", "check", str(file)])

    said = capsys.readouterr().out.splitlines()
    assert code == 1
    assert said[0].startswith(f"{file}:3: categories.risk.dir: must name folders below the roots")
    assert said[1] == f"{file}:4: categories.desk.patterns.0: a '[' is not closed"
    assert said[2].startswith("2 mistakes. The server keeps")


def test_a_file_that_is_not_there_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guide", "check", str(tmp_path / "none.yaml")]) == 1
    assert "none.yaml: the file cannot be read" in capsys.readouterr().out


def test_without_a_file_the_usual_places_are_named_and_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guide", "check"]) == 0
    assert "MCP_BINANCE_GUIDE_CONFIG" in capsys.readouterr().out
    usual = tmp_path / "config" / "mcp-binance-server"
    usual.mkdir(parents=True)
    (usual / "guide.yaml").write_text("version: 1\n")

    assert main(["guide", "check"]) == 0

    assert capsys.readouterr().out.startswith(f"{usual / 'guide.yaml'}: valid\n")


def test_guide_alone_is_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["guide"])

    assert left.value.code == 2
    assert "guide --help" in capsys.readouterr().err
