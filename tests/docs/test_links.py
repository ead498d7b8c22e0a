"""Every link between our own pages leads somewhere, and every page of the documentation can be reached."""

import re
from pathlib import Path

import pytest
import yaml

from support.pages import PAGES, ROOT, anchors, links, name_of

DOCS = ROOT / "docs"


def broken(page: Path) -> list[str]:
    found: list[str] = []
    for link in links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", [*PAGES, DOCS / "llms.txt"], ids=name_of)
def test_links_and_anchors_of_a_page_resolve(page: Path) -> None:
    assert broken(page) == []


@pytest.mark.parametrize("link", ["gone.md", "setup.md#gone", "#gone"])
def test_a_broken_link_would_be_seen(tmp_path: Path, link: str) -> None:
    (tmp_path / "setup.md").write_text("# Set up\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n[here]({link}), [there](setup.md#set-up)\n", encoding="utf-8")

    assert broken(page) == [link]


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name_of)
def test_a_page_of_the_site_does_not_lead_out_of_it_by_a_path(page: Path) -> None:
    inside = [link for link in links(page) if "://" not in link and not link.startswith("#")]

    assert all((page.parent / link.partition("#")[0]).resolve().is_relative_to(DOCS) for link in inside)


def test_the_menu_names_every_page_once() -> None:
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]

    named = re.findall(r"[\w/-]+\.md", yaml.safe_dump(menu))

    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(named) == sorted(pages)
