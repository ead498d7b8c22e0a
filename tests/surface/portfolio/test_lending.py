"""Whose account a caller's services read: found by the services' own fields, and nobody's where that misses one."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Portfolio
from mcp_binance_server.app import App
from mcp_binance_server.domain.access import LOCAL, Credentials, Vault, Visitor
from mcp_binance_server.domain.account import Account
from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.errors import InsufficientScope
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.catalogue import Catalogue
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.spec import Answer, Arguments, ToolAnswer, ToolSpec
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.reads import PaperReads

Ask = Callable[[], Awaitable[Sourced[Account]]]


class Nothing(Arguments):
    """No arguments."""


@dataclass(frozen=True, slots=True)
class Drawer:
    """A part of a service, two steps away from the context."""

    client: AccountReader


@dataclass(frozen=True, slots=True)
class DeepService:
    """Holds its account where only its fields tell."""

    drawer: Drawer
    label: str = "deep"


@dataclass(frozen=True)
class HidingService:
    """Keeps the account where no field tells: in a closure."""

    ask: Ask


@dataclass(frozen=True)
class DerivedService:
    """Makes a field of its own from what it was given, once."""

    label: str
    client: AccountReader = field(init=False)


@dataclass(frozen=True)
class Later(Context):
    """The context of some later day, with services that nobody entered in a list."""

    deep: DeepService | None = None
    hiding: HidingService | None = None
    derived: DerivedService | None = None


async def ask_deep(context: Context, _arguments: Nothing) -> ToolAnswer:
    assert isinstance(context, Later)
    assert context.deep is not None
    reading = await context.deep.drawer.client.account()
    return ToolAnswer(" ".join(f"{each.total:f}" for each in reading.value.holdings), Answer())


async def ask_hiding(context: Context, _arguments: Nothing) -> ToolAnswer:
    assert isinstance(context, Later)
    assert context.hiding is not None
    reading = await context.hiding.ask()
    return ToolAnswer(" ".join(f"{each.total:f}" for each in reading.value.holdings), Answer())


async def ask_derived(context: Context, _arguments: Nothing) -> ToolAnswer:
    assert isinstance(context, Later)
    assert context.derived is not None
    reading = await context.derived.client.account()
    return ToolAnswer(" ".join(f"{each.total:f}" for each in reading.value.holdings), Answer())


def tool(name: str, run: Callable[[Context, Nothing], Awaitable[ToolAnswer]]) -> ToolSpec[Nothing]:
    return ToolSpec(name, name, "Asks", Nothing, Answer, run, read_only=True, toolset="account")


CATALOGUE = Catalogue(tools=(tool("deep", ask_deep), tool("hiding", ask_hiding), tool("derived", ask_derived)))
MARK = "31415.92653589"


@pytest.fixture
def guest(exchange: SimulatedExchange) -> Principal:
    account = DemoAccount(99)
    exchange.guests.append(Guest(account, Portfolio((Balance("USDT", MARK, "0.0"),))))
    return Principal.of(Credentials(account.api_key, account.secret_key))


@pytest.fixture
def later(app: App) -> Dispatcher:
    """The services as `app.py` builds them, and three that came later."""
    client = app.context.account.client
    derived = DerivedService("derived")
    object.__setattr__(derived, "client", client)
    given = {each: getattr(app.context, each) for each in app.context.__dataclass_fields__}
    context = Later(**given, deep=DeepService(Drawer(client)), hiding=HidingService(client.account), derived=derived)
    return Dispatcher(CATALOGUE, context, app.dispatcher.owner)


async def test_a_service_in_no_list_reads_the_account_of_its_caller(later: Dispatcher, guest: Principal) -> None:
    guests = await later.call_tool(Caller(LOCAL, Vault(guest)), "deep", {})
    owners = await later.call_tool(None, "deep", {})
    nobodys = await later.call_tool(Caller(LOCAL, Vault(None)), "deep", {})

    assert guests.content[0].model_dump()["text"] == MARK
    assert owners.is_error is False
    assert MARK not in owners.model_dump_json()
    assert nobodys.structured_content["error_type"] == "invalid_credentials"


@pytest.mark.parametrize("name", ["hiding", "derived"])
async def test_a_service_that_forgets_its_caller_has_no_account_to_lend(
    later: Dispatcher, guest: Principal, exchange: SimulatedExchange, name: str
) -> None:
    exchange.requests.clear()

    answers = [
        await later.call_tool(caller, name, {})
        for caller in (Caller(LOCAL, Vault(None)), Caller(LOCAL, Vault(guest)), None)
    ]

    assert [each.structured_content["error_type"] for each in answers] == ["invalid_credentials"] * 3
    assert not exchange.requests


async def test_services_that_share_an_account_still_share_it(app: App, guest: Principal) -> None:
    lent = app.context.acting_for(guest)

    assert lent.account is lent.portfolio.account
    assert lent.account.client is lent.orders.client is lent.preview.account is lent.analysis.size.account
    assert lent.account.client.require_key() is guest
    assert lent.market is app.context.market
    assert lent.live is app.context.live


async def test_taking_the_account_away_leaves_none(app: App, guest: Principal) -> None:
    lent = app.context.acting_for(guest)

    assert not lent.acting_for(None).account.client.has_key
    assert not replace(lent, progress=None).acting_for(None).orders.client.has_key


async def test_on_paper_each_visitor_reads_their_own_account_whatever_the_keys(
    app: App, guest: Principal, tmp_path: Path
) -> None:
    async with opened_store(tmp_path / "trading") as store:
        paper = PaperReads(PaperExchange(store, {"USDT": Decimal(10_000)}, 0, app.clock.now_ms), "mainnet")
        accounts = replace(app.context.account, client=paper)
        orders = replace(app.context.orders, client=paper)
        given: dict[str, Any] = {each: getattr(app.context, each) for each in app.context.__dataclass_fields__}
        given |= {"account": accounts, "orders": orders}
        context = Later(**given, deep=DeepService(Drawer(paper)))
        dispatcher = Dispatcher(CATALOGUE, context, app.dispatcher.owner)
        ann, poor = Visitor("ann"), Visitor("poor", frozenset({"market:read"}))

        def account_for(caller: Caller | None) -> object:
            lent = dispatcher.context_for(caller, "market:read")
            assert lent.account.client is lent.orders.client
            return lent.account.client.require_key()

        own = account_for(None)
        assert own == account_for(Caller(LOCAL, Vault(guest))) == account_for(Caller(LOCAL, Vault(None)))
        assert account_for(Caller(ann, Vault(app.dispatcher.owner))) == account_for(Caller(ann, Vault(guest))) != own
        with pytest.raises(InsufficientScope):
            account_for(Caller(poor, Vault(app.dispatcher.owner)))
        told = await dispatcher.call_tool(Caller(ann, Vault(None)), "deep", {})
        assert told.content[0].model_dump()["text"] == "10000"
        assert not context.account.client.has_key


@pytest.mark.slow
async def test_nothing_that_a_service_holds_leads_to_the_owner(app: App) -> None:
    assert app.dispatcher.owner is not None

    found = [each for each in reachable(app.context) if isinstance(each, Principal)]

    assert not found


def reachable(root: object) -> list[object]:
    """Return all that an object leads to, closures included; not what is everybody's: modules, classes, tasks."""
    seen: dict[int, object] = {}
    ahead: list[Any] = [root]
    while ahead:
        node = ahead.pop()
        if id(node) in seen or isinstance(node, ModuleType | type | asyncio.Task):
            continue
        seen[id(node)] = node
        ahead += [node.__closure__, node.__defaults__] if hasattr(node, "__globals__") else gc.get_referents(node)
    return [*seen.values()]
