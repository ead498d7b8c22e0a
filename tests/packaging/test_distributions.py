"""What is in the wheel and in the source distribution. CI names the wheel that it built; its source lies beside it."""

import re
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path, PurePosixPath

import pytest

from mcp_binance_server import __version__
from support.built import built_wheel

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
PACKAGES = ("mcp_binance_server", "binance_simulator")
INFO = f"mcp_binance_server-{__version__}.dist-info"
MOST_BYTES, MOST_BYTES_OF_THE_PAGE = 5_000_000, 220_000
PAGE = "mcp_binance_server/surface/apps/chart.html"


@pytest.fixture(scope="module")
def wheel() -> set[str]:
    with zipfile.ZipFile(built_wheel()) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def source() -> set[str]:
    (path,) = built_wheel().parent.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}


def test_the_wheel_is_small() -> None:
    assert built_wheel().stat().st_size <= MOST_BYTES


def test_the_wheel_holds_the_package_and_its_description_and_nothing_else(wheel: set[str]) -> None:
    assert {name.split("/")[0] for name in wheel} == {*PACKAGES, INFO}
    assert not any("test" in PurePosixPath(name).name.split("_")[0] for name in wheel)
    assert not any("__pycache__" in name for name in wheel)


def test_the_wheel_holds_every_file_of_the_package(wheel: set[str]) -> None:
    found = (path for package in PACKAGES for path in (SOURCES / package).rglob("*"))
    files = (path for path in found if path.is_file() and "__pycache__" not in path.parts)
    expected = {path.relative_to(SOURCES).as_posix() for path in files}
    kinds = {PurePosixPath(name).suffix for name in expected}

    assert kinds >= {".py", ".typed", ".md", ".json", ".lua", ".ttf", ".proto"}
    assert {name for name in wheel if not name.startswith(INFO)} == {*expected, PAGE}


def test_the_wheel_carries_its_licences_and_both_commands(wheel: set[str]) -> None:
    with zipfile.ZipFile(built_wheel()) as archive:
        commands = archive.read(f"{INFO}/entry_points.txt").decode()

    assert f"{INFO}/licenses/LICENSE" in wheel
    assert any(name.startswith(f"{INFO}/licenses/") and name.endswith("OFL.txt") for name in wheel)
    assert {f"{INFO}/licenses/web/{name}" for name in ("LICENSE-lightweight-charts.txt", "NOTICE.txt")} <= wheel
    assert "mcp-binance-server = " in commands
    assert "binance-provider = " in commands


def test_wheel_and_source_carry_one_page_of_the_live_chart_with_the_notice_of_those_whose_code_it_holds() -> None:
    (path,) = built_wheel().parent.glob("*.tar.gz")
    with zipfile.ZipFile(built_wheel()) as archive:
        page = archive.read(PAGE)
    with tarfile.open(path) as source:
        (inside,) = (each for each in source.getmembers() if each.name.endswith(f"/src/{PAGE}"))
        kept = source.extractfile(inside)
        assert kept is not None
        assert kept.read() == page

    notice = (ROOT / "web" / "NOTICE.txt").read_text(encoding="utf-8").strip()
    assert len(page) <= MOST_BYTES_OF_THE_PAGE
    assert f"<!--\n{notice}\n-->" in page.decode()


def test_the_packages_page_leads_somewhere_from_wherever_it_is_read() -> None:
    with zipfile.ZipFile(built_wheel()) as archive:
        page = message_from_bytes(archive.read(f"{INFO}/METADATA"))
    text = str(page.get_payload())
    links = re.findall(r"\]\(([^)]+)\)", text)
    urls = dict(str(line).split(", ") for line in page.get_all("Project-URL") or [])

    assert {"Changelog", "Documentation", "Issues", "Source"} == set(urls)
    assert len(links) > 30
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert any(link.endswith("docs/images/bollinger-rsi.png") and "raw." in link for link in links)
    for link in links:
        _, blob, path = link.partition("/blob/main/")
        assert not blob or (ROOT / path.partition("#")[0]).exists(), link


def test_the_source_can_be_tested_and_packed_by_others(source: set[str]) -> None:
    needed = {
        "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "RELEASING.md", "server.json", "Dockerfile",
        ".dockerignore", "mcpb/manifest.json", "mcpb/package-lock.json", "plugin/.mcp.json", "docker/healthcheck.py",
        "conftest.py", "scripts/check", "scripts/bundle", "requirements/host.txt", ".github/workflows/ci.yml",
        "hatch_build.py", "web/build.py", "web/build.mjs", "web/package-lock.json", "web/NOTICE.txt",
    }  # fmt: skip

    assert needed - source == set()


def test_nothing_private_is_in_the_source(source: set[str]) -> None:
    suspects = (".env", ".pem", ".key", ".sqlite", ".coverage")

    assert [name for name in source if PurePosixPath(name).name.endswith(suspects)] == []
    assert not any(name.startswith((".venv", "dist/", "build/", ".git/")) for name in source)
