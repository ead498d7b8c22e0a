"""The environment becomes one frozen object, or a message that names variables and never values."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import VARIABLES, Settings, read_settings, state_folder, unknown_variables
from support.requirement import requirement

CANARY = "CaNaRy0123456789CaNaRy0123456789CaNaRy0123456789CaNaRy0123456789"


def test_an_empty_environment_is_mainnet_without_keys() -> None:
    settings = read_settings({})

    assert (settings.network, settings.api_key, settings.secret_key) == ("mainnet", None, None)


def test_an_empty_variable_counts_as_not_set() -> None:
    assert read_settings({"BINANCE_API_KEY": "  ", "BINANCE_NETWORK": ""}).network == "mainnet"


@requirement("ruling/23")
@pytest.mark.parametrize("name", ["BINANCE_SECRET_KEY", "BINANCE_API_SECRET"])
def test_the_secret_has_two_names(name: str) -> None:
    settings = read_settings({"BINANCE_API_KEY": CANARY, name: CANARY[::-1]})

    assert settings.secret_key is not None
    assert settings.secret_key.get_secret_value() == CANARY[::-1]


@requirement("ruling/23")
def test_a_private_key_file_takes_the_place_of_the_secret(tmp_path: Path) -> None:
    settings = read_settings({"BINANCE_API_KEY": CANARY, "BINANCE_PRIVATE_KEY_FILE": str(tmp_path / "key.pem")})

    assert settings.private_key_file == tmp_path / "key.pem"


@pytest.mark.parametrize(
    "environment",
    [
        {"BINANCE_API_KEY": CANARY},
        {"BINANCE_SECRET_KEY": CANARY},
        {"BINANCE_API_KEY": CANARY, "BINANCE_SECRET_KEY": CANARY, "BINANCE_PRIVATE_KEY_FILE": "key.pem"},
        {"BINANCE_NETWORK": CANARY},
        {"BINANCE_REST_URL": CANARY},
        {"MCP_BINANCE_LOG_LEVEL": CANARY},
        {"CHART_IMG_API_KEY": CANARY, "CHART_IMG_PLAN": CANARY},
        {"CHART_IMG_API_KEY": CANARY, "CHART_IMG_RPS": "0"},
        {"CHART_IMG_DAILY_LIMIT": CANARY},
        {"CHART_IMG_URL": CANARY},
    ],
)
def test_a_refusal_names_the_variable_and_never_its_value(environment: dict[str, str]) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(environment)

    assert any(name in caught.value.message for name in VARIABLES)
    assert CANARY[:9] not in caught.value.message
    assert CANARY[:9] not in repr(caught.value)


def test_toolsets_are_a_list_of_known_names() -> None:
    assert read_settings({"MCP_BINANCE_TOOLSETS": "Market, orders,"}).toolsets == ("market", "orders")
    with pytest.raises(SettingsError, match="MCP_BINANCE_TOOLSETS"):
        read_settings({"MCP_BINANCE_TOOLSETS": "market,moon"})


def test_the_whole_market_has_settings_of_its_own() -> None:
    usual = read_settings({})
    chosen = read_settings({
        "BINANCE_FUTURES_REST_URL": "http://127.0.0.1:1/",
        "BINANCE_FUTURES_STREAM_URL": "ws://127.0.0.1:2/",
        "MCP_BINANCE_BOARD_FRESH_SECS": "300",
        "MCP_BINANCE_SCAN_PERCENT": "1",
        "MCP_BINANCE_LIQUIDATIONS": "off",
    })  # fmt: skip

    assert (usual.board_fresh_secs, usual.scan_percent, usual.liquidations) == (10, 20, "asked")
    assert "derivatives" in usual.toolsets
    assert (chosen.futures_rest_url, chosen.futures_stream_url) == ("http://127.0.0.1:1", "ws://127.0.0.1:2")
    assert (chosen.board_fresh_secs, chosen.scan_percent, chosen.liquidations) == (300, 1, "off")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("BINANCE_FUTURES_REST_URL", "ws://127.0.0.1"),
        ("BINANCE_FUTURES_STREAM_URL", "http://127.0.0.1"),
        ("MCP_BINANCE_BOARD_FRESH_SECS", "1"),
        ("MCP_BINANCE_BOARD_FRESH_SECS", "301"),
        ("MCP_BINANCE_SCAN_PERCENT", "0"),
        ("MCP_BINANCE_SCAN_PERCENT", "51"),
        ("MCP_BINANCE_LIQUIDATIONS", "sometimes"),
    ],
)
def test_a_setting_of_the_whole_market_that_cannot_be_used_is_named(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=name):
        read_settings({name: text})


def test_a_trailing_slash_of_an_address_is_dropped() -> None:
    assert read_settings({"BINANCE_REST_URL": "http://127.0.0.1:8080/"}).rest_url == "http://127.0.0.1:8080"


def test_settings_do_not_change_and_do_not_show_secrets() -> None:
    settings = read_settings({"BINANCE_API_KEY": CANARY, "BINANCE_SECRET_KEY": CANARY})

    with pytest.raises(ValidationError, match="frozen"):
        settings.network = "demo"
    assert CANARY[:9] not in f"{settings} {settings!r} {settings.model_dump_json()}"


@requirement("ruling/23-charts")
def test_the_chart_service_has_a_key_and_a_plan_of_its_own() -> None:
    settings = read_settings({"CHART_IMG_API_KEY": CANARY, "CHART_IMG_PLAN": " pro ", "CHART_IMG_RPS": "0.5"})

    assert settings.chart_key is not None
    assert settings.chart_key.get_secret_value() == CANARY
    assert (settings.chart_plan, settings.chart_rps, settings.chart_daily_limit) == ("PRO", 0.5, None)
    assert (settings.chart_url, settings.chart_docs_url) == ("https://api.chart-img.com", "https://doc.chart-img.com")
    assert CANARY[:9] not in f"{settings} {settings!r} {settings.model_dump_json()}"


@requirement("ruling/43")
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("BINANCE_TESTNET", "BINANCE_NETWORK=testnet"),
        ("BINANCE_API_SECRET_KEY", "BINANCE_SECRET_KEY"),
        ("BINANCE_SECRET", "BINANCE_SECRET_KEY"),
        ("BINANCE_APIKEY", "BINANCE_API_KEY"),
        ("BINANCE_BASE_URL", "BINANCE_REST_URL"),
        ("MCP_BINANCE_API_KEY", "BINANCE_API_KEY"),
        ("MCP_BINANCE_NETWORK", "BINANCE_NETWORK"),
        ("MCP_BINANCE_LOGLEVEL", "MCP_BINANCE_LOG_LEVEL"),
        ("MCP_BINANCE_CHART_IMG_API_KEY", "CHART_IMG_API_KEY"),
    ],
)
def test_a_variable_that_nobody_reads_is_refused_with_the_nearest_right_name(name: str, meant: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({name: CANARY, "PATH": "/bin"})

    assert caught.value.message == (f"The configuration cannot be used: {name}: unknown setting. Did you mean {meant}?")


def test_a_name_like_none_of_ours_is_refused_without_a_guess() -> None:
    with pytest.raises(SettingsError, match=r"BINANCE_QUUX: unknown setting\. Remove it"):
        read_settings({"BINANCE_QUUX": "1"})


@requirement("ruling/43")
def test_every_variable_that_the_project_names_is_known() -> None:
    root = Path(__file__).parents[2]
    folders = ("docker", "examples", "mcpb", "plugin", "scripts", ".github", ".ci")
    files = [root / "Dockerfile", root / "server.json", root / "README.md"]
    files += [path for name in folders for path in (root / name).rglob("*") if path.is_file()]
    text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
    named = set(re.findall(r"\b(?:MCP_)?BINANCE_[A-Z][A-Z0-9_]*[A-Z0-9]\b", text))

    assert {"BINANCE_API_KEY", "MCP_BINANCE_STATE_URL"} <= named
    assert unknown_variables(dict.fromkeys(named, "1")) == ()


def test_what_is_empty_and_what_kubernetes_sets_is_not_refused() -> None:
    settings = read_settings(
        {
            "BINANCE_TESTNET": " ",
            "MCP_BINANCE_SERVER_SERVICE_HOST": "10.0.0.1",
            "MCP_BINANCE_SERVER_SERVICE_PORT_HTTP": "3000",
            "MCP_BINANCE_SERVER_PORT": "tcp://10.0.0.1:3000",
            "MCP_BINANCE_SERVER_PORT_3000_TCP": "tcp://10.0.0.1:3000",
            "MCP_BINANCE_SERVER_PORT_3000_TCP_ADDR": "10.0.0.1",
        }
    )

    assert settings == read_settings({})
    with pytest.raises(SettingsError, match="MCP_BINANCE_PORT"):
        read_settings({"MCP_BINANCE_PORT": "3000"})


def test_thresholds_are_gathered_by_their_prefix_and_are_not_unknown() -> None:
    environment = {"MCP_BINANCE_ANALYTICS_BIAS_T": "4", "MCP_BINANCE_ANALYTICS_MIN_EVENTS": "", "PATH": "/bin"}

    assert read_settings(environment).analytics == {"MCP_BINANCE_ANALYTICS_BIAS_T": "4"}
    assert unknown_variables(environment) == ()


def test_every_setting_says_what_it_is_for() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


@requirement("ruling/48")
def test_what_outlives_a_process_lies_in_the_platform_s_folder_unless_it_is_named_or_off() -> None:
    home = {"HOME": "/h"}

    assert read_settings(home).state_dir == Path("/h/.local/state/mcp-binance-server")
    assert read_settings({**home, "XDG_STATE_HOME": "/x"}).state_dir == Path("/x/mcp-binance-server")
    assert read_settings({**home, "XDG_STATE_HOME": "relative"}).state_dir is None
    assert read_settings({**home, "MCP_BINANCE_STATE_DIR": "/var/lib/pasts"}).state_dir == Path("/var/lib/pasts")
    assert read_settings({**home, "MCP_BINANCE_STATE_DIR": " Off "}).state_dir is None
    assert read_settings({}).state_dir is None
    assert state_folder({"LOCALAPPDATA": "/local", "HOME": "/h"}, "win32") == Path("/local/mcp-binance-server")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"MCP_BINANCE_STATE_DIR": "pasts"}, "MCP_BINANCE_STATE_DIR: Value error, must be an absolute path, or off"),
        ({"MCP_BINANCE_LEARN_SYMBOLS": "BTC/USDT"}, "must be symbols such as BTCUSDT, separated by commas"),
        (
            {"MCP_BINANCE_LEARN_SYMBOLS": "A,B,C", "MCP_BINANCE_FEED_SYMBOLS": "5"},
            "can have at most 2 symbols, half of",
        ),
    ],
)
def test_a_folder_or_symbols_that_cannot_be_used_stop_the_start(environment: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(environment)

    assert said in caught.value.problems[0]


def test_symbols_to_learn_are_counted_once() -> None:
    settings = read_settings(
        {"MCP_BINANCE_LEARN_SYMBOLS": "btcusdt, BTCUSDT,,ethusdt", "MCP_BINANCE_FEED_SYMBOLS": "4"}
    )

    assert settings.learn_symbols == ("btcusdt", "ethusdt")
