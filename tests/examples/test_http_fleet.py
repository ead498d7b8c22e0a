"""What examples/http-fleet tells an operator to run: it parses, and names only what exists."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_binance_server.cli.arguments import parse, parser
from mcp_binance_server.settings import VARIABLES, read_settings
from mcp_binance_server.telemetry.metrics import Gauges, Metrics
from mcp_binance_server.transports.http.app import ROUTES

FOLDER = Path(__file__).parents[2] / "examples" / "http-fleet"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file() and path.parent.name != "secrets")
UNITS = sorted((FOLDER / "systemd").glob("*.service"))


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))


COMPOSE: dict[str, Any] = documents("compose.yaml")[0]
MANIFEST = {each["kind"]: each for each in documents("kubernetes/mcp-binance.yaml")}
CONTAINER: dict[str, Any] = MANIFEST["Deployment"]["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_named_is_one(path: Path) -> None:
    named = set(re.findall(r"\b(?:MCP_BINANCE|BINANCE|CHART_IMG)_[A-Z_]+\b", path.read_text(encoding="utf-8")))

    assert named - set(VARIABLES) == set()


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".yaml"], ids=lambda path: path.name)
def test_every_yaml_file_parses(path: Path) -> None:
    assert all(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def test_compose_starts_the_server_with_arguments_and_settings_it_takes() -> None:
    for name in ("server1", "server2"):
        service = COMPOSE["services"][name]
        options = parse(parser(), service["command"])
        assert (options.http, options.port) == (True, 3000)
        settings = {key: value for key, value in service["environment"].items() if not value.startswith("${")}
        assert read_settings(settings).session_cap == 2000


def test_compose_refers_to_secrets_networks_files_and_services_that_exist() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", ()):
            assert (FOLDER / volume.split(":")[0]).is_file()
        assert re.fullmatch(r"[a-z/-]+:[\w.-]+", service["image"])
        assert ":latest" not in service["image"]
    mounted = {path.removeprefix("/run/secrets/") for path in re.findall(r"/run/secrets/\w[\w.]*", everything())}
    assert mounted <= set(COMPOSE["secrets"])


def everything() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in FILES)


def test_the_example_address_of_the_state_is_one_and_its_user_is_the_documented_one() -> None:
    (line,) = re.findall(r"^MCP_BINANCE_STATE_URL=(.*)$", (FOLDER / "server.env.example").read_text(), re.MULTILINE)
    (user,) = re.findall(r"^user mcp .*$", (FOLDER / "valkey" / "users.acl.example").read_text(), re.MULTILINE)
    documented = (FOLDER.parents[1] / "docs" / "fleet.md").read_text(encoding="utf-8")

    assert read_settings({"MCP_BINANCE_STATE_URL": line}).state_url.get_secret_value() == line
    pytest.importorskip("redis", reason="the extra fleet is not installed")
    from mcp_binance_server.state.redis.link import StateAddress

    assert StateAddress.parse(line).shown == "rediss://valkey:6379"
    assert user.replace("CHANGE-ME", "password") in documented


def test_prometheus_asks_every_server_of_compose_by_a_name_it_answers_to() -> None:
    (job,) = documents("prometheus/prometheus.yaml")[0]["scrape_configs"]
    allowed = COMPOSE["services"]["server1"]["environment"]["MCP_BINANCE_ALLOWED_HOSTS"].split(",")

    targets = [target for each in job["static_configs"] for target in each["targets"]]

    assert sorted(target.split(":")[0] for target in targets) == ["server1", "server2"]
    assert set(targets) <= set(allowed)


def test_every_metric_on_the_dashboard_exists() -> None:
    metrics = Metrics()
    metrics.request("ping", "ok", 0.1)
    metrics.answer("/mcp", 200)
    text = metrics.text(Gauges.zeros()).decode()
    exposed = set(re.findall(r"^(mcp_binance_\w+)", text, re.MULTILINE))
    dashboard = json.loads((FOLDER / "grafana" / "dashboard.json").read_text(encoding="utf-8"))

    shown = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"mcp_binance_\w+", target["expr"])
    }

    assert shown - exposed == set()
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in exposed} == {
        re.sub(r"_bucket$", "", name) for name in shown
    }, "every figure of ours has its place on the dashboard"


def test_the_manifest_fits_the_server() -> None:
    options = parse(parser(), CONTAINER["args"])
    port = CONTAINER["ports"][0]["containerPort"]
    settings = {each["name"]: each["value"] for each in CONTAINER["env"] if "value" in each}

    assert options.port == port == MANIFEST["Service"]["spec"]["ports"][0]["port"]
    assert read_settings(settings).session_cap == 2000
    assert CONTAINER["livenessProbe"]["httpGet"]["path"] in ROUTES
    assert CONTAINER["readinessProbe"]["httpGet"]["path"] in ROUTES
    labels = MANIFEST["Deployment"]["spec"]["template"]["metadata"]["labels"]
    for each in (
        MANIFEST["Deployment"]["spec"]["selector"]["matchLabels"],
        MANIFEST["Service"]["spec"]["selector"],
        MANIFEST["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ):
        assert each == labels
    assert set(MANIFEST) == {"Deployment", "Service", "NetworkPolicy"}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_the_unit(unit: Path, tmp_path: Path) -> None:
    (command,) = re.findall(r"^ExecStart=\S+ (.*)$", unit.read_text(), re.MULTILINE)
    assert parse(parser(), command.replace("%i", "3000").split()).http
    verify = program("systemd-analyze")
    # It insists on the program being there.
    text = unit.read_text().replace("/opt/mcp-binance-server/bin/mcp-binance-server", "/bin/true")
    copy = tmp_path / unit.name
    copy.write_text(text)

    done = subprocess.run([verify, "verify", str(copy)], capture_output=True, text=True, check=False)

    assert [line for line in done.stderr.splitlines() if "mcp-binance" in line] == []


def test_nginx_takes_its_configuration(tmp_path: Path) -> None:
    nginx = program("nginx")
    config = FOLDER / "nginx" / "nginx.conf"

    command = [nginx, "-t", "-q", "-p", str(tmp_path), "-e", str(tmp_path / "log"), "-c", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"this part of the example is not checked here: {name} is not installed")
    return found
