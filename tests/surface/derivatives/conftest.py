"""A server that reads futures, for the tests of what it tells of them."""

from collections.abc import AsyncIterator

import pytest

from support.futures import FuturesPlace, futures_place


@pytest.fixture
async def place() -> AsyncIterator[FuturesPlace]:
    async with futures_place() as opened:
        yield opened
