"""A server that would trade does not start unless everything agrees: exit code 2, and one line that says what to do."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import key_id
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.endpoints import NETWORKS
from mcp_binance_server.settings import read_settings
from mcp_binance_server.startup_checks import check, network_of, principal_of, round_key_of
from mcp_binance_server.trading_checks import checked_rules
from support.process import run_warm

KEY = "k" * 64
KEY_ID = key_id(KEY)
SECOND = key_id("another")
KEYS = {"BINANCE_API_KEY": KEY, "BINANCE_SECRET_KEY": "s" * 64}
LIMITS = {"symbols": '["BTCUSDT"]', "per_order": '"250"', "per_day": '"1000"', "daily_loss": '"100"'}
LOOPBACK = "http://127.0.0.1:9"
PRODUCTION = ("api.binance.com", "api1.binance.com", "api2.binance.com", "api3.binance.com", "api4.binance.com")
OTHERS_OF_PRODUCTION = ("api-gcp.binance.com", "data-api.binance.vision", "www.binance.com", "API.Binance.COM")


def policy_text(limits: dict[str, str] | None = None, key: str = KEY_ID, mode: str = "live") -> str:
    lines = [f"{name} = {value}" for name, value in (LIMITS if limits is None else limits).items()]
    named = [f'[keys."{key}"]', f'mode = "{mode}"'] if key else []
    return "\n".join(["[limits]", *lines, *named, ""])


def of_own_key(limits: dict[str, str]) -> str:
    """Write the limits below the server's own key, and none in common."""
    return f"[keys.{KEY_ID}]\nmode = 'live'\n" + "".join(f"limits.{each} = {limits[each]}\n" for each in limits)


def of_second_key(limits: dict[str, str], mode: str) -> str:
    """Write all that the server's own key needs, and some of it for a second key; nothing in common."""
    lines = "".join(f"limits.{each} = {limits[each]}\n" for each in limits)
    return f"{of_own_key(LIMITS)}[keys.{SECOND}]\nmode = '{mode}'\n{lines}"


@dataclass(frozen=True)
class Start:
    """The surroundings of one start."""

    around: dict[str, str] = field(default_factory=dict[str, str])
    policy: str | None = None

    def but(self, policy: str | None = None, **changed: str | None) -> "Start":
        around = {**self.around, **{name: value for name, value in changed.items() if value is not None}}
        kept = {name: value for name, value in around.items() if name not in changed or changed[name] is not None}
        return replace(self, around=kept, policy=self.policy if policy is None else policy)

    def written(self, folder: Path) -> dict[str, str]:
        """Write the file of limits, and return the environment."""
        home = {"HOME": str(folder), "MCP_BINANCE_TRADING_DIR": str(folder / "trading")}
        if self.policy is None:
            return {**home, **self.around}
        path = folder / "trading.toml"
        path.write_text(self.policy)
        return {**home, "MCP_BINANCE_TRADING_POLICY": str(path), **self.around}


PRACTICE = Start({"MCP_BINANCE_TRADING": "practice", "BINANCE_NETWORK": "testnet", **KEYS})
LIVE = Start({"MCP_BINANCE_TRADING": "live", "BINANCE_NETWORK": "mainnet", **KEYS}, policy_text())
NO_KEY: dict[str, Any] = {"BINANCE_API_KEY": None, "BINANCE_SECRET_KEY": None}
WITHOUT_FILE = replace(LIVE, policy=None)
WITHOUT_LIMITS = {
    f"live without {name}": (
        LIVE.but(policy_text({each: value for each, value in LIMITS.items() if each != name})),
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_TRADING_POLICY", name, "[limits]"),
    )
    for name in LIMITS
}
REFUSED: dict[str, tuple[Start, tuple[str, ...]]] = {
    "practice, network not written": (
        PRACTICE.but(BINANCE_NETWORK=None),
        ("MCP_BINANCE_TRADING=practice", "BINANCE_NETWORK=testnet", "BINANCE_NETWORK=demo"),
    ),
    "practice, network empty": (
        PRACTICE.but(BINANCE_NETWORK=" "),
        ("MCP_BINANCE_TRADING=practice", "BINANCE_NETWORK=testnet"),
    ),
    "practice at mainnet": (
        PRACTICE.but(BINANCE_NETWORK="mainnet"),
        ("MCP_BINANCE_TRADING=practice", "BINANCE_NETWORK=mainnet"),
    ),
    "live, network not written": (
        LIVE.but(BINANCE_NETWORK=None),
        ("MCP_BINANCE_TRADING=live", "BINANCE_NETWORK=mainnet"),
    ),
    "live at testnet": (
        LIVE.but(BINANCE_NETWORK="testnet"),
        ("MCP_BINANCE_TRADING=live", "BINANCE_NETWORK=testnet"),
    ),
    "live at demo": (LIVE.but(BINANCE_NETWORK="demo"), ("MCP_BINANCE_TRADING=live", "BINANCE_NETWORK=demo")),
    "practice without a key": (
        PRACTICE.but(**NO_KEY),
        ("MCP_BINANCE_TRADING=practice", "BINANCE_API_KEY", "https://testnet.binance.vision/", "setup"),
    ),
    "live without a key": (LIVE.but(**NO_KEY), ("MCP_BINANCE_TRADING=live", "BINANCE_API_KEY", "setup")),
    "live without a file": (
        WITHOUT_FILE,
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_TRADING_POLICY", *LIMITS, f'[keys."{KEY_ID}"]', 'mode = "live"'),
    ),
    "live with a file that is not there": (
        WITHOUT_FILE.but(MCP_BINANCE_TRADING_POLICY="/nonexistent/trading.toml"),
        ("MCP_BINANCE_TRADING_POLICY", "/nonexistent/trading.toml"),
    ),
    **WITHOUT_LIMITS,
    "live without any limit": (
        LIVE.but(policy_text({})),
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_TRADING_POLICY", *LIMITS),
    ),
    "live, key not named": (
        LIVE.but(policy_text(key="")),
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_TRADING_POLICY", f'[keys."{KEY_ID}"]', 'mode = "live"'),
    ),
    "live, another key named": (
        LIVE.but(policy_text(key=key_id("another"))),
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_TRADING_POLICY", f'[keys."{KEY_ID}"]'),
    ),
    "live, key named for practice": (
        LIVE.but(policy_text(mode="practice")),
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_TRADING_POLICY", KEY_ID, 'mode = "practice"'),
    ),
    "live, second key without a limit": (
        LIVE.but(of_second_key({name: LIMITS[name] for name in LIMITS if name != "daily_loss"}, mode="live")),
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_TRADING_POLICY", "needs daily_loss", f'[keys."{SECOND}".limits]'),
    ),
    "live, approver of a second key that is none": (
        LIVE.but(f"{policy_text()}[keys.{SECOND}]\nmode = 'live'\nconfirm.approver = 'MCow'\n"),
        ("MCP_BINANCE_TRADING_POLICY", f"keys.{SECOND}.confirm.approver: not a public key"),
    ),
    "live, own key's own lines are not those of a second": (
        LIVE.but(f"{of_own_key(LIMITS)}[keys.{SECOND}]\nmode = 'live'\n"),
        ("MCP_BINANCE_TRADING=live", "needs symbols, per_order, per_day, daily_loss", f'[keys."{SECOND}".limits]'),
    ),
    "practice, key named for live": (
        PRACTICE.but(policy_text()),
        ("MCP_BINANCE_TRADING=practice", "MCP_BINANCE_TRADING_POLICY", KEY_ID, 'mode = "live"'),
    ),
    "practice without its tools": (
        PRACTICE.but(MCP_BINANCE_TOOLSETS="market,orders"),
        ("MCP_BINANCE_TRADING=practice", "MCP_BINANCE_TOOLSETS", "trade"),
    ),
    "live without its tools": (
        LIVE.but(MCP_BINANCE_TOOLSETS="market"),
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_TOOLSETS", "orders and trade"),
    ),
    "practice with shared state": (
        PRACTICE.but(MCP_BINANCE_STATE_URL="redis://127.0.0.1:9"),
        ("MCP_BINANCE_TRADING=practice", "MCP_BINANCE_STATE_URL", "MCP_BINANCE_ROUND_KEY_FILE"),
    ),
    "live with shared state": (
        LIVE.but(MCP_BINANCE_STATE_URL="redis://127.0.0.1:9"),
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_STATE_URL", "MCP_BINANCE_ROUND_KEY_FILE"),
    ),
    "practice without a folder": (
        PRACTICE.but(MCP_BINANCE_TRADING_DIR="", HOME="", XDG_STATE_HOME=""),
        ("MCP_BINANCE_TRADING=practice", "MCP_BINANCE_TRADING_DIR"),
    ),
    "live without a folder": (
        LIVE.but(MCP_BINANCE_TRADING_DIR="", HOME="", XDG_STATE_HOME=""),
        ("MCP_BINANCE_TRADING=live", "MCP_BINANCE_TRADING_DIR"),
    ),
    "practice at a host of production": (
        PRACTICE.but(BINANCE_REST_URL="https://api3.binance.com"),
        ("MCP_BINANCE_TRADING=practice", "BINANCE_REST_URL", "api3.binance.com"),
    ),
    "practice told of by production": (
        PRACTICE.but(BINANCE_WS_API_URL="wss://ws-api.binance.com:443/ws-api/v3"),
        ("MCP_BINANCE_TRADING=practice", "BINANCE_WS_API_URL", "ws-api.binance.com"),
    ),
    "live at a stranger's": (
        LIVE.but(BINANCE_REST_URL="https://binance.example.com"),
        ("MCP_BINANCE_TRADING=live", "BINANCE_REST_URL", "binance.example.com"),
    ),
    "live unencrypted": (
        LIVE.but(BINANCE_REST_URL="http://api.binance.com"),
        ("MCP_BINANCE_TRADING=live", "BINANCE_REST_URL", "encrypted"),
    ),
    "live at the testnet": (
        LIVE.but(BINANCE_REST_URL="https://testnet.binance.vision"),
        ("MCP_BINANCE_TRADING=live", "BINANCE_REST_URL", "testnet.binance.vision"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_start_that_does_not_agree_ends_with_one_line(case: str, tmp_path: Path) -> None:
    start, words = REFUSED[case]

    ended = run_warm(environment=start.written(tmp_path))

    assert ended.returncode == 2
    assert ended.stdout == b""
    (line,) = ended.stderr.decode().splitlines()
    assert [each for each in words if each not in line] == []
    assert "Value error" not in line
    assert KEY not in line
    assert not (tmp_path / "trading").exists()


def closed_to_others(path: Path) -> str:
    path.chmod(0o644)
    return ""


def open_to_a_group(path: Path) -> str:
    path.chmod(0o664)
    return "chmod go-w"


def open_to_all(path: Path) -> str:
    path.chmod(0o646)
    return "chmod go-w"


def in_an_open_folder(path: Path) -> str:
    path.parent.chmod(0o777)
    return "chmod o-w"


def of_another_user(path: Path) -> str:
    try:
        os.chown(path, 12_345, -1)
    except PermissionError:
        pytest.skip("only root can give a file away")
    return "belongs to another user (number 12345): chown"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such rights")
@pytest.mark.parametrize(
    "spoilt",
    [closed_to_others, open_to_a_group, open_to_all, in_an_open_folder, of_another_user],
    ids=lambda each: each.__name__,
)
def test_limits_that_others_can_change_are_none(spoilt: Callable[[Path], str], tmp_path: Path) -> None:
    folder = tmp_path / "limits"
    folder.mkdir()
    environment = LIVE.written(folder)
    wanted = spoilt(folder / "trading.toml")

    problem = refusal(environment)

    assert problem == "" if not wanted else ("MCP_BINANCE_TRADING_POLICY" in problem and wanted in problem)


def refusal(environment: dict[str, str]) -> str:
    try:
        check(read_settings(environment), SystemClock())
    except SettingsError as error:
        return error.message
    return ""


def test_every_incomplete_key_is_named_at_once_and_those_that_trade_no_money_are_not(tmp_path: Path) -> None:
    third = "k-third"
    text = f"{of_second_key({}, 'live')}[keys.{third}]\nmode = 'live'\nlimits.per_day = '1'\n"

    problem = refusal(LIVE.but(text).written(tmp_path))

    assert f'needs symbols, per_order, per_day, daily_loss below [keys."{SECOND}".limits]' in problem
    assert f'symbols, per_order, daily_loss below [keys."{third}".limits]' in problem
    assert KEY_ID not in problem
    assert refusal(LIVE.but(of_second_key({}, "practice")).written(tmp_path)) == ""
    assert refusal(LIVE.but(of_second_key(LIMITS, "live")).written(tmp_path)) == ""
    assert refusal(PRACTICE.but(f"[keys.{SECOND}]\nmode = 'live'\n").written(tmp_path)) == ""


@pytest.mark.parametrize(("mode", "most"), [("live", 9_00), ("practice", 9_00), ("paper", 250_00)])
def test_the_servers_own_key_trades_by_its_own_lines_and_paper_by_the_common_ones(
    mode: str, most: int, tmp_path: Path
) -> None:
    text = f"{policy_text(mode='live' if mode == 'live' else 'practice')}limits.per_order = '9'\n"
    network = "mainnet" if mode == "live" else "testnet"
    start = LIVE.but(text, MCP_BINANCE_TRADING=mode, BINANCE_NETWORK=network)
    settings = read_settings(start.written(tmp_path))

    rules = checked_rules(settings, network_of(settings), principal_of(settings))

    assert (rules.limits.per_order, rules.limits.per_day) == (most, 1000_00)
    assert rules.of_key(SECOND).limits.per_order == 250_00


def agrees(mode: str, network: str | None, policy: str, *, has_key: bool) -> bool:
    match mode:
        case "off":
            return True
        case "paper":
            return policy != "broken"
        case "practice":
            return network in ("testnet", "demo") and has_key and policy in ("none", "no key", "no limits", "practice")
        case _:
            return network == "mainnet" and has_key and policy == "live"


POLICIES = {
    "none": None,
    "live": policy_text(),
    "practice": policy_text(mode="practice"),
    "no key": policy_text(key=""),
    "no limits": policy_text({}, key=""),
    "broken": "limits = 3\n",
}
NETWORK_TEXTS = (None, "mainnet", "testnet", "demo")
MATRIX = [*product(("off", "paper", "practice", "live"), NETWORK_TEXTS, POLICIES, (True, False))]


@pytest.mark.night
def test_of_all_settings_exactly_those_that_agree_can_start(tmp_path: Path) -> None:
    wrong: list[object] = []
    for mode, network, policy, has_key in MATRIX:
        around = {"MCP_BINANCE_TRADING": mode, **(KEYS if has_key else {})}
        around |= {} if network is None else {"BINANCE_NETWORK": network}

        problem = refusal(Start(around, POLICIES[policy]).written(tmp_path))

        if agrees(mode, network, policy, has_key=has_key) != (problem == ""):
            wrong.append((mode, network, policy, has_key, problem))
        assert "\n" not in problem
    assert wrong == []
    assert len(MATRIX) == 4 * 4 * 6 * 2


@pytest.mark.parametrize("network", ["testnet", "demo"])
@pytest.mark.parametrize("host", [*PRODUCTION, *OTHERS_OF_PRODUCTION])
def test_who_practises_reaches_no_host_of_production(network: str, host: str, tmp_path: Path) -> None:
    named = PRACTICE.but(BINANCE_NETWORK=network)
    addresses = {
        "BINANCE_REST_URL": f"https://{host}",
        "BINANCE_WS_API_URL": f"wss://{host}/ws-api/v3",
        "BINANCE_STREAM_URL": f"wss://{host}:443",
        "BINANCE_FUTURES_REST_URL": f"https://{host}",
        "BINANCE_FUTURES_STREAM_URL": f"wss://{host}",
    }

    for name, address in addresses.items():
        assert name in refusal(named.but(**{name: address}).written(tmp_path))
        # An address on this machine beside it makes no difference.
        beside = {"BINANCE_REST_URL": LOOPBACK, name: address}
        assert name in refusal(named.but(**beside).written(tmp_path))


@pytest.mark.parametrize(
    ("start", "address"),
    [
        (PRACTICE, LOOPBACK),
        (PRACTICE, "http://localhost:8080"),
        (PRACTICE, "http://[::1]:8080"),
        (PRACTICE, "https://api1.testnet.binance.vision"),
        (LIVE, LOOPBACK),
        *((LIVE, f"https://{host}") for host in PRODUCTION),
        (LIVE, "https://api-gcp.binance.com:443"),
    ],
)
def test_a_twin_of_the_network_and_a_simulator_here_are_reached(start: Start, address: str, tmp_path: Path) -> None:
    settings = read_settings(start.but(BINANCE_REST_URL=address).written(tmp_path))

    assert checked_rules(settings, network_of(settings), principal_of(settings))
    assert network_of(settings).rest_url == address


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        (b"r" * 32, 0o600, ""),
        (b"r" * 31, 0o600, "it has only 31 bytes; create it with: head -c 32 /dev/urandom > "),
        (b"r" * 32, 0o640, "other users can read it; fix it with: chmod 600 "),
        (None, 0, "No such file or directory"),
    ],
)
def test_a_key_of_rounds_is_long_and_its_owners_alone(
    content: bytes | None, mode: int, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "round.key"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)

    problem = refusal(PRACTICE.but(MCP_BINANCE_ROUND_KEY_FILE=str(path)).written(tmp_path))

    assert (told in problem and "MCP_BINANCE_ROUND_KEY_FILE: " in problem) if told else problem == ""
    assert "\n" not in problem


def test_processes_with_one_key_file_share_previews_and_rounds_by_two_keys(tmp_path: Path) -> None:
    path = tmp_path / "round.key"
    path.write_bytes(b"r" * 32)
    path.chmod(0o600)
    for start in (PRACTICE, LIVE):
        shared = start.but(MCP_BINANCE_STATE_URL="redis://127.0.0.1:9", MCP_BINANCE_ROUND_KEY_FILE=str(path))
        assert refusal(shared.written(tmp_path)) == ""
    first, second = (
        read_settings(PRACTICE.but(MCP_BINANCE_ROUND_KEY_FILE=str(path)).written(tmp_path)) for _ in range(2)
    )

    assert round_key_of(first, "previews") == round_key_of(second, "previews") != round_key_of(first, "rounds")
    assert round_key_of(read_settings(PRACTICE.written(tmp_path)), "previews") is None


def test_a_network_that_was_exchanged_afterwards_is_looked_at_too(tmp_path: Path) -> None:
    settings = read_settings(PRACTICE.written(tmp_path))

    with pytest.raises(SettingsError, match="BINANCE_NETWORK=mainnet"):
        checked_rules(settings, NETWORKS["mainnet"], principal_of(settings))


def test_a_command_that_stops_trading_runs_whatever_disagrees(tmp_path: Path) -> None:
    start = PRACTICE.but(BINANCE_NETWORK="mainnet")

    ended = run_warm("stop", "looks", "wrong", environment=start.written(tmp_path))

    assert ended.returncode == 0, ended.stderr
