"""The playbooks that ship: each renders, is clean, has no dead link, and every error leads to one."""

import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from mcp_binance_server import errors
from mcp_binance_server.guide.config import CONTENT
from mcp_binance_server.guide.document import headings
from mcp_binance_server.guide.library import Library
from mcp_binance_server.services.guide import GuideService
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.spec import PromptSpec
from mcp_binance_server.words import visible
from support.clock import FakeClock
from support.requirement import requirement

PLAYBOOKS = sorted(path.relative_to(CONTENT).as_posix() for path in CONTENT.glob("*/*.md"))
LINK = re.compile(r"guide://[A-Za-z0-9/._*%-]+[A-Za-z0-9/*]")


@pytest.fixture
def service() -> GuideService:
    clock = FakeClock()
    return GuideService(Library(clock), clock, LoopPace(clock.monotonic_ms))


async def dead_links(service: GuideService, text: str) -> list[str]:
    dead: list[str] = []
    for uri in sorted(set(LINK.findall(text))):
        try:
            await service.read(uri)
        except errors.AppError:
            dead.append(uri)
    return dead


@pytest.mark.parametrize("playbook", PLAYBOOKS)
async def test_a_playbook_renders_with_title_description_and_tags(service: GuideService, playbook: str) -> None:
    content = await service.read(f"guide://document/{playbook}")

    (document,) = content.documents
    assert content.framed.mime_type == "text/markdown"
    assert document.source == "builtin"
    assert document.facts.title
    assert document.facts.description
    assert document.facts.tags
    assert document.facts.mistake == ""
    assert headings(document.body)[0] == (0, document.facts.title)
    assert "<h1>" in MarkdownIt().render(document.body)
    assert len(document.body.split()) <= 1_500


@pytest.mark.parametrize("playbook", PLAYBOOKS)
async def test_a_playbook_has_no_dead_link(service: GuideService, playbook: str) -> None:
    text = (CONTENT / playbook).read_text(encoding="utf-8")

    assert await dead_links(service, text) == []
    assert visible(text) == text


def test_every_category_that_ships_has_a_playbook_and_nothing_lies_outside_one() -> None:
    snapshot = Library(FakeClock()).snapshot()

    assert [name for name, entries in snapshot.entries.items() if not entries] == []
    assert snapshot.problems == ()
    known = {f"{entry.category}/{entry.doc_id}" for entry in snapshot.everything}
    on_disk = {path.relative_to(CONTENT).as_posix() for path in CONTENT.rglob("*") if path.is_file()}
    assert on_disk - known == {"_help.md"}


@requirement("guide/help-content", "guide/help-use-cases")
async def test_the_help_page_has_every_section_and_no_dead_link(service: GuideService) -> None:
    text = (await service.read("guide://help")).framed.text

    told = [heading for _, heading in headings(text)]
    assert told == [
        "Guide URI Help",
        "Addresses",
        "How to use them",
        "Categories",
        "Collections",
        "Common uses",
        "Your own guides",
        "Without resource support",
        "Limits",
    ]
    assert await dead_links(service, re.sub(r"`guide://\w+/\{[^`]*`", "", text)) == []


def every_error() -> list[type[errors.AppError]]:
    def below(kind: type[errors.AppError]) -> list[type[errors.AppError]]:
        return [kind, *(each for child in kind.__subclasses__() for each in below(child))]

    return below(errors.AppError)


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
async def test_every_error_leads_to_a_page_that_exists(service: GuideService, kind: type[errors.AppError]) -> None:
    content = await service.read(kind.guide)

    assert kind.guide.startswith("guide://document/") or kind.guide == "guide://help"
    assert len(content.framed.text) > 500


@pytest.mark.parametrize("spec", [spec for spec in CATALOGUE.prompts if spec.live], ids=lambda spec: spec.name)
async def test_a_prompt_on_the_live_market_names_the_page_that_explains_it(
    service: GuideService, spec: PromptSpec[Any]
) -> None:
    (uri,) = re.findall(r"guide://\S+", spec.description)

    content = await service.read(uri)

    assert len(content.framed.text) > 500


def test_the_playbooks_are_in_the_package() -> None:
    assert Path(CONTENT) == Path(errors.__file__).parent / "guide" / "content"
    assert len(PLAYBOOKS) >= 14
