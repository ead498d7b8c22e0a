"""The build of the live chart's page: the same bytes each time, and what is built and served where Node is missing."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.built import built_wheel
from support.process import Process, clean_environment

pytestmark = [pytest.mark.flood, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]
PAGE = "mcp_binance_server/surface/apps/chart.html"
NODE = frozenset({"node", "nodejs", "npm", "npx", "corepack"})
MOST_BYTES = 220_000


def made(out: Path) -> bytes:
    done = subprocess.run(
        [sys.executable, str(ROOT / "web" / "build.py"), str(out)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


@pytest.fixture(scope="module")
def without_node(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return this environment with every program of it but Node's."""
    programs = tmp_path_factory.mktemp("programs")
    around = clean_environment({})
    for folder in map(Path, around["PATH"].split(os.pathsep)):
        for program in folder.iterdir() if folder.is_dir() else ():
            if program.name not in NODE and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    return {**around, "PATH": str(programs), "CHART_PAGE": ""}


def built(source: Path, out: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv, which builds, is not installed")
    constraints = str(ROOT / "requirements" / "build.txt")
    return subprocess.run(
        [uv, "build", "--wheel", "--python", sys.executable, "--build-constraints", constraints, "--require-hashes",
         "--out-dir", str(out), str(source)],
        env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, without_node: dict[str, str]) -> Path:
    """Return a package that was built from this checkout without Node."""
    place = tmp_path_factory.mktemp("bare")

    done = built(ROOT, place, without_node)

    assert done.returncode == 0, done.stderr
    assert "The live chart was not built, so charts are pictures: npm is not installed." in done.stderr
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "package")
    return place / "package"


@pytest.mark.night
def test_two_builds_in_new_folders_are_equal_byte_by_byte(tmp_path: Path) -> None:
    first, second = made(tmp_path / "one" / "page.html"), made(tmp_path / "another" / "deeper" / "page.html")

    assert first == second
    assert 100_000 < len(first) <= MOST_BYTES


@pytest.mark.night
def test_what_was_built_for_the_wheel_is_what_these_sources_give(tmp_path: Path) -> None:
    with zipfile.ZipFile(built_wheel()) as archive:
        assert archive.read(PAGE) == made(tmp_path / "page.html")


@pytest.mark.night
def test_the_page_leaves_nothing_beside_its_sources(tmp_path: Path) -> None:
    before = {*(ROOT / "web").rglob("*")}

    made(tmp_path / "page.html")

    assert {*(ROOT / "web").rglob("*")} == before


@pytest.mark.night
def test_packages_that_cannot_be_had_are_the_reason_that_is_told(tmp_path: Path) -> None:
    nowhere = {"npm_config_registry": "http://127.0.0.1:9/", "npm_config_cache": str(tmp_path / "cache")}

    done = subprocess.run(
        [sys.executable, str(ROOT / "web" / "build.py"), str(tmp_path / "page.html")],
        env={**clean_environment(nowhere), "npm_config_fetch_retry_mintimeout": "100"},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.startswith("no page: npm ci failed: npm error code ECONNREFUSED")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.night
def test_a_release_is_not_built_without_it(tmp_path: Path, without_node: dict[str, str]) -> None:
    done = built(ROOT, tmp_path, {**without_node, "CHART_PAGE": "required"})

    assert done.returncode != 0
    assert "CHART_PAGE=required: npm is not installed" in done.stderr
    assert [*tmp_path.glob("*.whl")] == []


@pytest.mark.night
def test_a_wheel_of_the_source_distribution_needs_no_node(tmp_path: Path, without_node: dict[str, str]) -> None:
    (source,) = built_wheel().parent.glob("*.tar.gz")

    done = built(source, tmp_path, {**without_node, "CHART_PAGE": "required"})

    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.read_bytes() == built_wheel().read_bytes()


@pytest.mark.night
def test_an_installation_without_the_page_draws_pictures_and_speaks_of_no_live_chart(bare: Path) -> None:
    with Process("demo", environment={"PYTHONPATH": str(bare)}) as process:
        greeting = process.shake_hands()
        tools: list[dict[str, object]] = process.ask(1, "tools/list", {})["result"]["tools"]
        config = {"symbol": "BINANCE:BTCUSDT", "interval": "1h"}
        drawn = process.ask(2, "tools/call", {"name": "generate_chart_image", "arguments": {"config": config}})

    assert [block["mimeType"] for block in drawn["result"]["content"][1:]] == ["image/png"]
    assert "extensions" not in greeting["result"]["capabilities"]
    assert not (bare / PAGE).exists()
    assert "get_chart_bars" not in {tool["name"] for tool in tools}
    assert [tool["name"] for tool in tools if "_meta" in tool] == []


@pytest.mark.night
def test_the_doctor_says_why_there_is_no_live_chart(bare: Path) -> None:
    nowhere = {"BINANCE_REST_URL": "http://127.0.0.1:9", "PYTHONPATH": str(bare)}
    done = subprocess.run(
        [sys.executable, "-m", "mcp_binance_server", "doctor", "--json"],
        env=clean_environment(nowhere), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    (found,) = (rung for rung in json.loads(done.stdout)["rungs"] if rung["id"] == "live_chart")

    assert found["status"] == "warning"
    assert "no page" in found["seen"]
    assert "Node" in found["why"]
    assert found["try"]
