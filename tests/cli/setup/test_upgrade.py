"""Entries and keys that 0.1.0 wrote: `setup` reads them, changes what has moved, and nothing else."""

from pathlib import Path

import pytest

from mcp_binance_server.cli.setup.clients import CLIENTS
from mcp_binance_server.cli.setup.plan import our_entries
from mcp_binance_server.key_file import read_keys, with_keys
from support.setups import Terminalist, run
from support.upgrade import OldHome, old_home

TODAY = "/opt/homebrew/bin/mcp-binance-server"
KEPT = {
    "BINANCE_API_KEY": "K1" * 32,
    "BINANCE_SECRET_KEY": "CaNaRy0123456789" * 4,
    "CHART_IMG_API_KEY": "CaNaRy-chart-0123456789",
}


@pytest.fixture
def home(tmp_path: Path) -> OldHome:
    return old_home(tmp_path)


@pytest.mark.parametrize("client", CLIENTS)
def test_an_entry_that_is_right_stays_as_it_was_to_the_byte(client: str, home: OldHome) -> None:
    before, person = home.contents(), Terminalist()

    code = run(home.machine(), person, client, no_keys=True, yes=True)

    assert code == 0
    assert "It is as it should be already; nothing to change." in person.seen
    assert home.contents() == before


@pytest.mark.parametrize("client", CLIENTS)
def test_of_an_entry_whose_program_has_moved_only_the_way_to_it_changes_and_only_once(
    client: str, home: OldHome
) -> None:
    before = home.contents()
    name = str(home.file(client).relative_to(home.path))

    codes = [run(home.machine(TODAY), Terminalist(), client, no_keys=True, yes=True) for _ in range(2)]

    after = home.contents()
    [copy] = after.keys() - before.keys()
    changed = [each for each in before if after[each] != before[each]]
    assert codes == [0, 0]
    assert changed == [name]
    # Another entry of the same client, here one of another network, is another server's.
    assert after[name] == before[name].replace(home.program.encode(), TODAY.encode(), 1)
    assert (copy.startswith(f"{name}."), after[copy]) == (True, before[name])


def test_an_entry_of_another_network_goes_on_reading_the_keys_of_that_network(home: OldHome) -> None:
    before = home.file("cursor").read_text(encoding="utf-8")
    entry = before.index('"binance-testnet"')

    code = run(home.machine(TODAY), Terminalist(), "cursor", name="binance-testnet", no_keys=True, yes=True)

    assert code == 0
    assert home.file("cursor").read_text(encoding="utf-8") == before[:entry] + before[entry:].replace(
        home.program, TODAY
    )


def test_every_entry_is_known_as_ours_with_the_keys_that_it_reads(home: OldHome) -> None:
    entries, unreadable = our_entries(home.machine())

    assert unreadable == []
    assert {each.client.name for each in entries if each.reads(home.keys(), "mainnet")} == {*CLIENTS}
    assert [each.client.name for each in entries if each.reads(home.keys("testnet"), "testnet")] == ["cursor"]


def test_the_keys_of_both_networks_are_read_where_they_lie(home: OldHome) -> None:
    around = {"HOME": str(home.path)}

    found = with_keys(around)
    of_testnet = with_keys({**around, "BINANCE_NETWORK": "testnet"})

    assert read_keys(home.keys()) == KEPT
    assert {name: found[name] for name in KEPT} == KEPT
    assert of_testnet["BINANCE_API_KEY"] == "K2" * 32


def test_whoever_presses_enter_at_every_question_keeps_the_keys(home: OldHome) -> None:
    before, person = home.contents(), Terminalist(["", ""])

    code = run(home.machine(), person, "cursor", yes=True)

    assert code == 0
    assert person.seen.count("(Enter: ke") == 2
    assert home.contents() == before


def test_a_client_that_is_taken_out_leaves_the_other_entries_and_the_keys(home: OldHome) -> None:
    before, person = home.contents(), Terminalist()

    code = run(home.machine(), person, "codex", remove=True, yes=True)

    changed = {each for each, content in home.contents().items() if before.get(each) != content}
    text = home.file("codex").read_text(encoding="utf-8")
    assert code == 0
    assert {each.partition(".toml")[0] for each in changed} == {".codex/config"}
    assert "mcp-binance-server" not in text
    assert '[mcp_servers.files]\ncommand = "npx" # of Node' in text
    assert "still use them" in person.seen
