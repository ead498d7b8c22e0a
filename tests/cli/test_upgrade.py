"""A home that 0.1.0 has written, and the server and the commands of today started in it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.setup.clients import CLIENTS
from mcp_binance_server.cli.setup.plan import entry_of, variables_of
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.transports.http.auth.token_file import TokenFile
from support.exchange_socket import ServedExchange, served_exchange
from support.process import run_warm
from support.upgrade import OldHome, old_home

KEY, SECRET = "K1" * 32, "CaNaRy0123456789" * 4
TOKEN = b"mbs_Q2FOYVJ5MDEyMzQ1Njc4OUNhTmFSeTAxMjM0NTY3ODk"


@pytest.fixture
def home(tmp_path: Path) -> OldHome:
    return old_home(tmp_path)


@pytest.fixture(scope="module")
def served() -> Iterator[ServedExchange]:
    with served_exchange() as exchange:
        exchange.exchange.account.api_key, exchange.exchange.account.secret_key = KEY, SECRET
        yield exchange


def addresses(served: ServedExchange) -> dict[str, str]:
    return {"BINANCE_REST_URL": served.rest_url, "BINANCE_STREAM_URL": f"ws://{served.host}"}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_started_by_an_old_entry_reads_the_account_of_the_old_keys(
    client: str, home: OldHome, served: ServedExchange
) -> None:
    before = home.contents()
    entry = entry_of(CLIENTS[client], home.file(client).read_text(encoding="utf-8"), "binance")
    variables = {name: str(value) for name, value in variables_of(entry).items()}

    done = run_warm("ask", "get_account_info", "--json", environment=variables | addresses(served))

    assert done.returncode == 0, done.stderr
    assert {each["asset"] for each in json.loads(done.stdout)["balances"]} >= {"BTC", "USDT"}
    assert home.contents() == before


@pytest.mark.night
def test_playbooks_and_their_configuration_are_served_as_before(home: OldHome, served: ServedExchange) -> None:
    before = home.contents()
    around = {"XDG_CONFIG_HOME": str(home.own.parent), **addresses(served)}

    daily = run_warm("ask", "get_collection_content", "collection=daily", environment=around)
    charts = run_warm("ask", "get_category_content", "category=charts", environment=around)

    assert daily.returncode == 0, daily.stderr
    assert b"Slept well, no news pending, limits read." in daily.stdout
    assert (charts.returncode, b"charts" in charts.stderr) == (1, True)
    assert main(["guide", "check", str(home.own / "guide.yaml")]) == 0
    assert home.contents() == before


async def test_a_token_of_before_lets_its_holder_in_with_the_scopes_of_before(home: OldHome) -> None:
    file = TokenFile(home.own / "tokens", SystemClock())

    visitor = await file.visitor([(b"authorization", b"Bearer " + TOKEN)], b"")

    assert (visitor.name, visitor.scopes) == ("token ann", {"market:read"})
