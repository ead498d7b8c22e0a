"""The Dockerfile, as far as it can be judged without an engine; and the health check, which runs as it is."""

import fnmatch
import json
import re
import runpy
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.app import App
from mcp_binance_server.cli.arguments import GRPC_PORT, HTTP_PORT
from support.webapp import served_http

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "Dockerfile"
HEALTHCHECK = runpy.run_path(str(ROOT / "docker" / "healthcheck.py"), run_name="healthcheck")
check: Callable[[list[str]], None] = HEALTHCHECK["check"]
port_in: Callable[[list[str], int], int] = HEALTHCHECK["port_in"]


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    joined = re.sub(r"\s*\\\n\s*", " ", text)
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def last_stage() -> list[tuple[str, str]]:
    everything = instructions()
    return everything[max(i for i, (word, _) in enumerate(everything) if word == "FROM") :]


def sources() -> list[str]:
    """Return what is copied from the checkout; what comes from another stage is not ours to find."""
    copies = [rest.split() for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    return [source for words in copies for source in words[:-1]]


def test_everything_that_is_copied_exists_and_is_let_through() -> None:
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = [rule[1:] for rule in rules if rule.startswith("!")]

    assert rules[0] == "*"
    assert len(sources()) >= 5
    for source in sources():
        assert (ROOT / source).exists(), source
        assert any(fnmatch.fnmatch(source, rule) or source.startswith(f"{rule}/") for rule in let_through), source


def test_the_image_leaves_its_tools_behind_runs_as_nobody_and_speaks_on_its_pipes() -> None:
    stages = [rest for word, rest in instructions() if word == "FROM"]
    final = dict(last_stage())

    assert [stage.rpartition(" AS ")[2] for stage in stages[:-1]] == ["page", "build"]
    assert [rest.split()[0] for word, rest in last_stage() if word == "COPY" and "--from" in rest] == ["--from=build"]
    assert all("slim" in stage for stage in stages)
    assert int(final["USER"]) > 0
    assert json.loads(final["ENTRYPOINT"]) == ["mcp-binance-server"]
    assert "CMD" not in final
    assert final["HEALTHCHECK"].endswith('CMD ["python", "/opt/healthcheck.py"]')
    assert any("ca-certificates" in rest for word, rest in last_stage() if word == "RUN")


def test_the_image_is_built_from_hashed_packages_and_holds_no_secret() -> None:
    installs = [rest for word, rest in instructions() if word == "RUN" and "pip install" in rest]

    assert "--require-hashes" in installs[0]
    assert not re.search(r"(?i)^(ENV|ARG) .*(key|secret|token)", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_image_is_not_built_without_the_page_of_the_live_chart() -> None:
    page = "src/mcp_binance_server/surface/apps/chart.html"
    lines = [f"{word} {rest}" for word, rest in instructions()]

    copied = next(i for i, line in enumerate(lines) if line.startswith("COPY --from=page") and line.endswith(page))
    built = next(i for i, line in enumerate(lines) if "pip wheel" in line)
    assert copied < built
    assert "ENV CHART_PAGE=required" in lines[copied:built]


def test_the_linter_of_dockerfiles_has_nothing_to_say() -> None:
    linter = shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed")

    done = subprocess.run([linter, str(DOCKERFILE)], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("words", "port"),
    [
        (["--http"], HTTP_PORT),
        (["--http", "--port", "8080"], 8080),
        (["--port=8080", "--http", "--host", "::"], 8080),
    ],
)
def test_the_health_check_asks_at_the_port_that_was_named(words: list[str], port: int) -> None:
    assert port_in(words, HTTP_PORT) == port


def test_the_health_check_knows_our_ports() -> None:
    assert (HEALTHCHECK["HTTP_PORT"], HEALTHCHECK["GRPC_PORT"]) == (HTTP_PORT, GRPC_PORT)


async def test_a_server_that_answers_is_healthy(app: App) -> None:
    async with served_http(app) as url:
        await anyio.to_thread.run_sync(check, ["mcp-binance-server", "--http", "--port", url.rpartition(":")[2], ""])


@pytest.mark.parametrize("transport", ["--http", "--grpc"])
def test_a_server_that_does_not_answer_is_not_healthy(transport: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens

        with pytest.raises(OSError, match="refused"):
            check(["mcp-binance-server", transport, "--port", str(taken.getsockname()[1])])


def test_a_server_on_a_pipe_is_healthy_as_long_as_it_runs() -> None:
    check(["mcp-binance-server", "demo", ""])
