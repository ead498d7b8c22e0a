"""All reference pages by file name."""

from collections.abc import Callable, Mapping

from reference_pages.commands import commands_page
from reference_pages.errors import errors_page
from reference_pages.metrics import metrics_page
from reference_pages.settings import settings_page
from reference_pages.surface import prompts_page, resources_page, tools_page

PAGES: Mapping[str, Callable[[], str]] = {
    "tools.md": tools_page,
    "resources.md": resources_page,
    "prompts.md": prompts_page,
    "settings.md": settings_page,
    "errors.md": errors_page,
    "cli.md": commands_page,
    "metrics.md": metrics_page,
}
