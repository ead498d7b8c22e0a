"""A key that was made on another network: the networks are asked, and the setting that helps is named."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
from mcp import Client, MCPError

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import App, running_app
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.exchange.key_probe import MOST_A_MINUTE, REMEMBERED_MS
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.requirement import requirement

HELP = "https://keys.test/"
NETWORKS = {name: Network(name, f"http://{name}.test", HELP) for name in ("mainnet", "testnet", "demo")}


class Routed(httpx2.AsyncBaseTransport):
    """Three exchanges behind their names; one that is away cannot be connected to."""

    def __init__(self, exchanges: dict[str, SimulatedExchange]) -> None:
        self._networks = {f"{name}.test": httpx2.ASGITransport(build_app(each)) for name, each in exchanges.items()}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        network = self._networks.get(request.url.host)
        if network is None:
            raise httpx2.ConnectError("nobody is there")
        return await network.handle_async_request(request)


@dataclass
class World:
    clock: FakeClock
    exchanges: dict[str, SimulatedExchange] = field(default_factory=dict[str, SimulatedExchange])

    def __post_init__(self) -> None:
        self.exchanges = {name: SimulatedExchange(self.clock, seed=seed) for seed, name in enumerate(NETWORKS)}

    def asked(self, network: str) -> list[str]:
        return [request.path.rpartition("/")[2] for request in self.exchanges[network].requests]

    @asynccontextmanager
    async def app(self, key_of: str, *, away: tuple[str, ...] = ()) -> AsyncGenerator[App]:
        account = self.exchanges[key_of].account
        settings = read_settings({"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key})
        there = {name: each for name, each in self.exchanges.items() if name not in away}
        async with running_app(
            settings, clock=self.clock, network=NETWORKS["mainnet"], networks=NETWORKS, transport=Routed(there)
        ) as app:
            yield app


@pytest.fixture
def world(clock: FakeClock) -> World:
    return World(clock)


async def refused(app: App) -> MCPError:
    async with Client(app.server, cache=None) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("binance://account/balances")
    return caught.value


@requirement("ruling/22")
async def test_the_setting_that_helps_is_named(world: World) -> None:
    async with world.app("testnet") as app:
        error = await refused(app)

    assert error.data["likely_cause"] == "unknown_key_or_wrong_network"
    assert error.data["setting"] == "BINANCE_NETWORK=testnet"
    assert error.data["explanation"].startswith("This key belongs to testnet, but BINANCE_NETWORK is mainnet: ")
    assert error.data["recovery_suggestion"].startswith("Set BINANCE_NETWORK=testnet ")


async def test_others_are_asked_in_public_first_then_with_a_signature_that_is_none(world: World) -> None:
    async with world.app("testnet") as app:
        await refused(app)

    assert world.asked("testnet") == world.asked("demo") == ["time", "order"]
    assert all(request.status != 200 for request in world.exchanges["testnet"].requests if request.signed)


async def test_what_was_found_is_remembered_for_a_while(world: World) -> None:
    async with world.app("demo") as app:
        first, second = await refused(app), await refused(app)
        once = world.asked("demo")
        world.clock.advance(REMEMBERED_MS)
        await refused(app)

    assert first.data["setting"] == second.data["setting"] == "BINANCE_NETWORK=demo"
    assert once == ["time", "order"]
    assert len(world.asked("demo")) == 4


async def test_a_host_that_is_not_there_gets_no_key(world: World) -> None:
    world.exchanges["demo"].faults.add(Fault(kind="status", path="*/time", status=503, times=None))

    async with world.app("testnet", away=("testnet",)) as app:
        error = await refused(app)

    assert "setting" not in error.data
    assert "does not accept this key" in error.data["explanation"]
    assert world.asked("demo") == ["time"]


async def test_a_key_of_this_network_is_sent_nowhere_else(world: World) -> None:
    world.exchanges["mainnet"].faults.add(Fault(kind="status", path="*/account", status=401, code=-2015, msg="no"))

    async with world.app("mainnet") as app:
        error = await refused(app)

    assert error.data["likely_cause"] == "ip_not_allowed_or_permission_missing"
    assert world.asked("testnet") == world.asked("demo") == []


async def test_however_many_wrong_keys_come_others_are_not_flooded(world: World) -> None:
    async with world.app("mainnet") as app:
        others = app.account.caller.others
        assert others is not None
        for number in range(MOST_A_MINUTE + 5):
            assert await others.home_of(Principal.of(Credentials(f"{number:064}", "s" * 64))) is None
        at_most = len(world.asked("testnet"))
        world.clock.advance(60_000)
        await others.home_of(Principal.of(Credentials("n" * 64, "s" * 64)))

    assert at_most == 2 * MOST_A_MINUTE
    assert len(world.asked("testnet")) == at_most + 2
