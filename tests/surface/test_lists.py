"""The lists that were written beforehand are those of the catalogue, whatever a user has chosen."""

from itertools import combinations, product
from pathlib import Path
from typing import get_args

import pytest

from mcp_binance_server.settings import Toolset
from mcp_binance_server.surface import greeting
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.greeting import read_lists
from mcp_binance_server.surface.spec import TRADE
from reference_pages.lists import lists_file

GROUPS = get_args(Toolset)
SIZES = (0, 1, 2, len(GROUPS) - 1, len(GROUPS))
CHOSEN = [frozenset(each) for size in SIZES for each in combinations(GROUPS, size)]


def test_the_file_is_as_the_catalogue_would_write_it() -> None:
    written = Path(greeting.__file__).with_name(greeting.LISTS).read_text(encoding="utf-8")

    assert written == lists_file(), "run scripts/lists"


@pytest.mark.parametrize(("live", "chart_app", "trading"), list(product((True, False), repeat=3)))
def test_every_choice_of_groups_lists_what_its_catalogue_has(*, live: bool, chart_app: bool, trading: bool) -> None:
    for toolsets in CHOSEN:
        catalogue = CATALOGUE.only(toolsets, live=live, chart_app=chart_app, trading=trading)

        read = read_lists(toolsets, live=live, chart_app=chart_app, trading=trading and TRADE in toolsets)

        assert read == catalogue.lists, toolsets
