"""The search of the documentation, in a site that a browser opens from files: no server, no network."""

import pytest
from playwright.async_api import Browser

from support.site import built_site


async def test_search_finds_a_page_of_a_site_opened_from_files(
    light_browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site = built_site(tmp_path_factory)
    asked: list[str] = []
    problems: list[str] = []
    page = await light_browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    await page.goto((site / "how-to" / "limits.html").as_uri())
    await page.click(".md-search__input")

    await page.keyboard.type("passphrase of the approver")
    await page.click(".md-search-result__link[href*='how-to/approve.html']")
    heading = await page.inner_text("h1")
    await page.close()

    assert heading.startswith("Approve")
    assert (problems, [url for url in asked if not url.startswith("file:")]) == ([], [])
