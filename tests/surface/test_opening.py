"""A dispatcher that is made when it is first needed."""

import anyio
import pytest
from anyio.lowlevel import checkpoint
from mcp import Client

from mcp_binance_server.app import App
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.server import Opening, build_early_server


async def test_all_who_wait_get_the_one_that_was_made_though_one_of_them_goes_away(app: App) -> None:
    opening, made, got = Opening(), 0, list[Dispatcher]()

    async def make() -> None:
        nonlocal made
        assert await opening.is_needed()
        made += 1
        await opening.keep(app.dispatcher)

    async def need() -> None:
        got.append(await opening.opened())

    async with anyio.create_task_group() as group:
        group.start_soon(make)
        with anyio.move_on_after(0):
            await need()
        async with anyio.create_task_group() as needing:
            for _ in range(3):
                needing.start_soon(need)
        opening.end()

    assert made == 1
    assert got == [app.dispatcher] * 3


async def test_a_list_is_answered_before_anything_is_made_and_has_it_made(app: App) -> None:
    opening, asked = Opening(), anyio.Event()
    catalogue = app.dispatcher.catalogue
    server = build_early_server(
        opening, catalogue.toolsets, live=True, has_updates=False, has_views=catalogue.has_views
    )

    async def make() -> None:
        assert await opening.is_needed()
        asked.set()
        await opening.keep(app.dispatcher)

    with anyio.fail_after(60):
        async with Client(server, cache=None) as client:
            tools = (await client.list_tools()).tools
            prompts = (await client.list_prompts()).prompts
            async with anyio.create_task_group() as group:
                group.start_soon(make)
                await asked.wait()
                opening.end()

    assert (tools, prompts) == (catalogue.lists.tools, catalogue.lists.prompts)


async def test_nothing_is_made_while_nobody_needs_it_nor_when_all_is_over() -> None:
    opening, answers = Opening(), list[bool]()

    async def make() -> None:
        answers.append(await opening.is_needed())

    async with anyio.create_task_group() as group:
        group.start_soon(make)
        for _ in range(5):
            await checkpoint()
        assert answers == []
        opening.end()

    assert answers == [False]


async def test_what_made_it_impossible_is_told_to_who_waits_and_to_who_comes_later() -> None:
    opening = Opening()

    async with anyio.create_task_group() as group:
        group.start_soon(opening.refuse, OSError("the disk is gone"))
        for _ in range(2):
            with pytest.raises(OSError, match="the disk is gone"):
                await opening.opened()
        opening.end()


async def test_an_error_that_we_chose_is_told_as_itself_though_task_groups_have_wrapped_it() -> None:
    opening, chosen = Opening(), SettingsError(problems=("MCP_BINANCE_TRADING=live: the key may withdraw",))
    wrapped = ExceptionGroup("tasks", [ExceptionGroup("more tasks", [chosen])])

    async with anyio.create_task_group() as group:
        group.start_soon(opening.refuse, wrapped)
        with pytest.raises(SettingsError, match="the key may withdraw"):
            await opening.opened()
        opening.end()
