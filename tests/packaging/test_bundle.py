"""The MCPB bundle: its own tool accepts and packs it, and what is unpacked starts and answers."""

import json
import os
import re
import shutil
import subprocess
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

from mcp_binance_server import __version__
from support.built import installed_mcpb
from support.process import clean_environment
from support.raw import INITIALIZE

pytestmark = [pytest.mark.flood, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    packed = tmp_path_factory.mktemp("bundle") / "server.mcpb"
    command = [str(ROOT / "scripts" / "bundle"), str(packed), str(installed_mcpb())]

    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Manifest schema validation passes!" in done.stdout
    return packed


@pytest.mark.night
def test_a_bundle_holds_what_its_build_needs_and_no_cache(bundle: Path) -> None:
    names = set(zipfile.ZipFile(bundle).namelist())

    assert {"manifest.json", "pyproject.toml", "README.md", "LICENSE", "src/mcp_binance_server/__main__.py"} <= names
    assert {"hatch_build.py", "web/NOTICE.txt", "web/LICENSE-lightweight-charts.txt"} <= names
    assert "src/mcp_binance_server/surface/apps/chart.html" in names
    assert "web/build.py" not in names
    assert not any("__pycache__" in name or name.startswith("tests/") for name in names)


@pytest.mark.night
def test_the_server_of_a_bundle_answers(bundle: Path, tmp_path: Path) -> None:
    if shutil.which("uv") is None:
        pytest.skip("uv, with which a client starts a bundle, is not installed")
    zipfile.ZipFile(bundle).extractall(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    started = manifest["server"]["mcp_config"]
    command = [started["command"], *(word.replace("${__dirname}", str(tmp_path)) for word in started["args"])]
    # As a client does it: every field left as it was.
    fields = {f"${{user_config.{name}}}": str(field["default"]) for name, field in manifest["user_config"].items()}
    environment = clean_environment({name: fields[value] for name, value in started["env"].items()})
    environment.pop("VIRTUAL_ENV", None)

    done = _asked(command, environment)

    assert done.stdout, done.stderr.decode()
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "mcp-binance-server"
    assert answer["result"]["serverInfo"]["version"] == __version__
    assert "io.modelcontextprotocol/ui" in answer["result"]["capabilities"]["extensions"]
    assert (tmp_path / manifest["server"]["entry_point"]).is_file()
    installed = {
        (each.metadata["Name"].lower().replace("_", "-"), each.version)
        for each in distributions(path=[str(path) for path in (tmp_path / ".venv").glob("lib/*/site-packages")])
    }
    assert ("mcp-binance-server", __version__) in installed
    assert installed - {("mcp-binance-server", __version__)} <= pinned()


def pinned() -> set[tuple[str, str]]:
    text = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z0-9][a-z0-9.-]*)==([^ ;]+)", text, re.MULTILINE))


def _asked(command: list[str], environment: dict[str, str], attempts: int = 3) -> "subprocess.CompletedProcess[bytes]":
    """Start it and greet it; its packages are fetched meanwhile, and a registry may stumble."""
    done = subprocess.run(
        command,
        input=json.dumps(INITIALIZE).encode() + os.linesep.encode(),
        capture_output=True,
        timeout=90,
        check=False,
        env=environment,
    )
    return done if done.stdout or attempts == 1 else _asked(command, environment, attempts - 1)
