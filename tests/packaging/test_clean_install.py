"""The wheel where nothing else is: a new environment, an empty home, an empty folder; and what it costs there."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_binance_server import __version__
from mcp_binance_server.cli.setup.command import CLIENT_NAMES
from support.built import built_wheel

pytestmark = [pytest.mark.flood, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]


class Newcomer:
    """Somebody who has just installed it."""

    def __init__(self, place: Path) -> None:
        self.bin = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.home = place / "home"
        self.folder = place / "empty"
        self.home.mkdir()
        self.folder.mkdir()
        wheel = str(built_wheel())
        # What it costs is printed, and too much of it fails.
        done = subprocess.run(
            [str(ROOT / "scripts" / "footprint"), wheel, str(place / "venv")],
            capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        self.footprint = f"{done.stdout}{done.stderr}"
        self.fits = done.returncode == 0

    def command(self, *words: str) -> list[str]:
        return [str(self.bin / "mcp-binance-server"), *words]

    def environment(self, **more: str) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.defpath, "LANG": "C.UTF-8", **more}

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
            cwd=self.folder, env=self.environment(**more),
        )  # fmt: skip


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    built_wheel()
    if shutil.which("uv") is None:
        pytest.skip("uv, which makes the environment, is not installed")
    return Newcomer(tmp_path_factory.mktemp("newcomer"))


@pytest.fixture(scope="module")
def exchange(newcomer: Newcomer) -> Iterator[dict[str, str]]:
    simulator = subprocess.Popen(
        newcomer.command("simulator"), stdout=subprocess.PIPE, cwd=newcomer.folder, env=newcomer.environment()
    )
    assert simulator.stdout is not None
    yield json.loads(simulator.stdout.readline())
    simulator.terminate()
    simulator.wait(30)
    simulator.stdout.close()


@pytest.mark.night
def test_an_installation_is_small(newcomer: Newcomer, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{newcomer.footprint}", end="")  # noqa: T201 - the figures belong into the log of CI

    assert newcomer.fits, newcomer.footprint


def test_it_knows_its_version(newcomer: Newcomer) -> None:
    assert newcomer.run(*newcomer.command("--version")).stdout == f"mcp-binance-server {__version__}\n"


@pytest.mark.night
def test_a_demo_answers_over_its_pipes(newcomer: Newcomer) -> None:
    ask = str(ROOT / "scripts" / "ask_demo.py")

    done = newcomer.run(str(newcomer.bin / "python"), ask, *newcomer.command("demo"))

    assert done.stdout.startswith(f"mcp-binance-server {__version__}: BTCUSDT "), done.stderr


@pytest.mark.night
def test_the_doctor_finds_it_healthy(newcomer: Newcomer, exchange: dict[str, str]) -> None:
    keys = {"BINANCE_API_KEY": exchange["api_key"], "BINANCE_SECRET_KEY": exchange["secret_key"]}
    places = {"BINANCE_REST_URL": exchange["rest"], "BINANCE_STREAM_URL": exchange["streams"]}

    done = newcomer.run(*newcomer.command("doctor", "--json"), **keys, **places)

    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert report["healthy"] is True
    assert [rung["id"] for rung in report["rungs"] if rung["status"] == "skipped"] == []


@pytest.mark.night
@pytest.mark.parametrize("client", CLIENT_NAMES)
def test_every_client_could_be_set_up(newcomer: Newcomer, client: str) -> None:
    done = newcomer.run(*newcomer.command("setup", "--client", client, "--dry-run"))

    assert done.returncode == 0, done.stderr
    assert str(newcomer.bin / "mcp-binance-server") in done.stdout
    assert "Nothing was written" in done.stdout


def test_nothing_was_left_behind(newcomer: Newcomer) -> None:
    assert [*newcomer.home.rglob("*")] == []
    assert [*newcomer.folder.rglob("*")] == []
