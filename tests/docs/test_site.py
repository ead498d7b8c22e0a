"""The site builds without a warning and asks nobody but its own server for anything."""

import re
from pathlib import Path

import pytest

from support.pages import ROOT
from support.site import built_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_site(tmp_path_factory)


def test_it_builds_without_a_warning(site: Path) -> None:
    sources = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]

    assert [name for name in sources if not (site / name).is_file()] == []


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", page.read_text(encoding="utf-8")):
            if 'rel="canonical"' not in tag:
                assert not re.search(r"""(?:src|href)="?(?:https?:)?//""", tag), f"{page.name}: {tag}"
