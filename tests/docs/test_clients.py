"""The page about clients is as new as the pins of tests/clients."""

import json
import re

from clients.table import CLIENTS, NPM, NPM_NIGHT, Client
from support.pages import ROOT

PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| ([\d.]+) \| (\d{4}-\d\d-\d\d) \|", PAGE, re.MULTILINE)


def pinned(client: Client) -> str:
    if client.place in (NPM, NPM_NIGHT):
        lock = json.loads((ROOT / "tests" / "clients" / client.place / "package-lock.json").read_text(encoding="utf-8"))
        return str(lock["packages"][f"node_modules/{client.package}"]["version"])
    pins = (ROOT / "requirements" / f"clients-{client.place}.txt").read_text(encoding="utf-8")
    (version,) = re.findall(rf"^{client.package}==([^\s;]+)", pins, re.MULTILINE)
    return version


def test_every_client_has_one_row_with_its_pinned_version() -> None:
    assert sorted((title, version) for title, version, _ in ROWS) == sorted(
        (each.title, pinned(each)) for each in CLIENTS
    )
