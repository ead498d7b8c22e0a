"""What stores and clients read about us agrees with the code: versions, names, settings, links."""

import base64
import json
import re
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import resvg_py
import yaml

from mcp_binance_server import __version__
from mcp_binance_server.settings import VARIABLES, Toolset, read_settings
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.greeting import DESCRIPTION, WEBSITE
from reference_pages.skills import skill_files

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
RAW = "https://raw.githubusercontent.com/mcp-binance-server/mcp-binance-server/main"
SKILLS = ROOT / "plugin" / "skills"
LAUNCH = {"command": "uvx", "args": ["mcp-binance-server"]}


def read(path: str) -> dict[str, Any]:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


SERVER, MANIFEST, PLUGIN = read("server.json"), read("mcpb/manifest.json"), read("plugin/.claude-plugin/plugin.json")
AGENT_PLUGIN = read("plugin/plugin.json")  # https://agent-plugins.org/specification


def test_every_description_of_a_release_has_the_packages_version() -> None:
    told = {
        "server.json": SERVER["version"],
        "server.json, package": SERVER["packages"][0]["version"],
        "manifest.json": MANIFEST["version"],
        "plugin.json, Claude Code": PLUGIN["version"],
        "plugin.json": AGENT_PLUGIN["version"],
    }

    assert told == dict.fromkeys(told, __version__)


def test_the_registry_can_see_that_the_package_is_ours() -> None:
    # https://modelcontextprotocol.io/registry/package-types: the README on PyPI names the server.
    assert re.findall(r"mcp-name: (\S+)", README) == [SERVER["name"]]
    assert re.fullmatch(r"io\.github\.[A-Za-z0-9-]+/[A-Za-z0-9._-]+", SERVER["name"])
    assert SERVER["name"] in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_registry_entry_keeps_the_rules_of_its_schema() -> None:
    (package,) = SERVER["packages"]

    assert SERVER["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert 1 <= len(SERVER["description"]) <= 100
    assert 1 <= len(SERVER["title"]) <= 100
    assert set(SERVER["repository"]) == {"url", "source"}
    assert (package["registryType"], package["identifier"]) == ("pypi", "mcp-binance-server")
    assert (package["runtimeHint"], package["transport"]) == ("uvx", {"type": "stdio"})


def test_registry_bundle_and_server_show_one_icon_one_site_and_one_description() -> None:
    (listed,) = SERVER["icons"]
    drawing = (ROOT / "docs/images/favicon.svg").read_text(encoding="utf-8")

    assert SERVER["description"] == DESCRIPTION
    assert SERVER["websiteUrl"] == MANIFEST["homepage"] == WEBSITE
    assert listed["src"] == f"{RAW}/mcpb/{MANIFEST['icon']}"
    assert listed["sizes"] == ["512x512"]
    for path, size in (("mcpb/icon.png", 512), ("src/mcp_binance_server/surface/icon.png", 32)):
        drawn = bytes(resvg_py.svg_to_bytes(svg_string=drawing, width=size, height=size))
        assert (ROOT / path).read_bytes() == drawn, "run scripts/icons"


def test_the_registry_and_the_bundle_offer_settings_that_exist_and_hide_what_is_secret() -> None:
    secret = {"BINANCE_API_KEY", "BINANCE_SECRET_KEY", "CHART_IMG_API_KEY"}
    variables = SERVER["packages"][0]["environmentVariables"]
    environment: dict[str, str] = MANIFEST["server"]["mcp_config"]["env"]
    asked = {name: unquoted(value) for name, value in environment.items()}

    assert {each["name"] for each in variables} == set(environment)
    assert set(environment) <= set(VARIABLES)
    assert {each["name"] for each in variables if each.get("isSecret")} == secret
    assert {name for name, field in asked.items() if MANIFEST["user_config"][field].get("sensitive")} == secret
    assert sorted(asked.values()) == sorted(MANIFEST["user_config"])


def test_a_bundle_whose_fields_are_left_alone_starts_with_the_usual_settings() -> None:
    defaults = {
        name: str(MANIFEST["user_config"][unquoted(value)]["default"])
        for name, value in MANIFEST["server"]["mcp_config"]["env"].items()
    }

    assert read_settings(defaults) == read_settings({})


def unquoted(value: str) -> str:
    found = re.fullmatch(r"\$\{user_config\.(\w+)\}", value)
    assert found, value
    return found[1]


def test_the_plugin_starts_the_same_server_and_its_marketplace_finds_it() -> None:
    (listed,) = read(".claude-plugin/marketplace.json")["plugins"]

    assert read("plugin/.mcp.json") == {"mcpServers": {"binance": LAUNCH}}
    assert (listed["name"], listed["description"]) == (PLUGIN["name"], PLUGIN["description"])
    assert (ROOT / listed["source"] / ".claude-plugin" / "plugin.json").is_file()


def test_every_client_of_plugins_gets_the_same_plugin() -> None:
    schemas = "https://agent-plugins.org/schemas/1.0.0"

    assert {"$schema": f"{schemas}/plugin.schema.json", **PLUGIN} == AGENT_PLUGIN
    assert read("plugin/mcp.json") == {
        "$schema": f"{schemas}/mcp.schema.json",
        "mcpServers": {"binance": {"type": "stdio", **LAUNCH}},
    }


def test_the_generated_skills_are_those_of_the_playbooks() -> None:
    written = {
        path.relative_to(SKILLS).as_posix(): path.read_text(encoding="utf-8")
        for path in SKILLS.rglob("*.md")
        if "read-the-market" not in path.parts
    }

    assert written == skill_files(), "run scripts/skills"


@pytest.mark.parametrize("folder", sorted(path.name for path in SKILLS.iterdir()))
def test_a_skill_is_well_formed_and_names_tools_that_exist(folder: str) -> None:
    text = (SKILLS / folder / "SKILL.md").read_text(encoding="utf-8")
    front, body = text.removeprefix("---\n").split("\n---\n", 1)
    described = yaml.safe_load(front)
    named = set(re.findall(r"`((?:get|search|place|cancel|estimate|detect|construct|generate)_\w+)`", body))
    offered = CATALOGUE.only(frozenset(get_args(Toolset)), live=True, chart_app=True, trading=True)

    # https://agentskills.io/specification
    assert described["name"] == folder
    assert 1 <= len(described["description"]) <= 1024
    assert named
    assert named <= {spec.name for spec in offered.tools}
    assert all((SKILLS / folder / link).is_file() for link in re.findall(r"\]\((references/[^)]+)\)", body))


def links(page: str) -> list[str]:
    return re.findall(r"\((https://(?:cursor\.com/en/install-mcp|insiders\.vscode\.dev/redirect)[^)]*)\)", page)


def test_there_is_a_link_for_each_client_that_installs_by_a_click() -> None:
    assert sorted(decoded(link)[0] for link in links(INSTALL)) == ["cursor", "vscode", "vscode-insiders"]


@pytest.mark.parametrize("link", [*links(INSTALL), *links(README)])
def test_a_link_installs_exactly_this_server(link: str) -> None:
    _, name, entry = decoded(link)

    assert (name, entry) == ("binance", LAUNCH)


def decoded(link: str) -> tuple[str, str, dict[str, Any]]:
    """Return which client a link is for, the name it installs under, and what it starts."""
    asked = parse_qs(urlsplit(link).query, strict_parsing=True)
    if "config" in asked:
        return "cursor", asked["name"][0], json.loads(base64.b64decode(asked["config"][0], validate=True))
    scheme, _, rest = asked["url"][0].partition(":mcp/install?")
    entry = json.loads(unquote(rest))
    return scheme, entry.pop("name"), entry
