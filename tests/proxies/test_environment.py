"""One decision for all connections: which proxy an address goes through, and what of it is ever shown."""

import sys
from collections.abc import Mapping

import pytest

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.proxies.environment import (
    SYSTEM,
    OutgoingProxies,
    Proxy,
    explain_status,
    read_proxies,
    unread_variables,
)
from mcp_binance_server.settings import read_settings

CANARY = "CaNaRyPassword"
SECURE, PLAIN = "https://api.binance.com/api/v3/time", "http://127.0.0.1:8080/api/v3/time"
ONE, TWO, THREE = "http://one.test:1", "http://two.test:2", "http://three.test:3"


def way(environment: Mapping[str, str], url: str) -> str:
    return str(read_settings(environment).proxies.of(url) or "direct")


@pytest.mark.parametrize(
    ("environment", "secure", "plain"),
    [
        ({}, "direct", "direct"),
        ({"HTTPS_PROXY": ONE}, "one.test:1 (HTTPS_PROXY)", "direct"),
        ({"https_proxy": ONE}, "one.test:1 (https_proxy)", "direct"),
        ({"HTTP_PROXY": TWO}, "direct", "two.test:2 (HTTP_PROXY)"),
        ({"http_proxy": TWO}, "direct", "two.test:2 (http_proxy)"),
        ({"ALL_PROXY": THREE}, "three.test:3 (ALL_PROXY)", "three.test:3 (ALL_PROXY)"),
        ({"all_proxy": THREE}, "three.test:3 (all_proxy)", "three.test:3 (all_proxy)"),
        ({"HTTPS_PROXY": ONE, "ALL_PROXY": THREE}, "one.test:1 (HTTPS_PROXY)", "three.test:3 (ALL_PROXY)"),
        ({"HTTPS_PROXY": ONE, "https_proxy": TWO}, "two.test:2 (https_proxy)", "direct"),
        ({"HTTPS_PROXY": ONE, "https_proxy": ""}, "direct", "direct"),
        ({"HTTP_PROXY": TWO, "REQUEST_METHOD": "GET"}, "direct", "direct"),
        ({"http_proxy": TWO, "REQUEST_METHOD": "GET"}, "direct", "two.test:2 (http_proxy)"),
        ({"HTTPS_PROXY": "one.test:1"}, "one.test:1 (HTTPS_PROXY)", "direct"),
        ({"HTTPS_PROXY": "http://one.test"}, "one.test:80 (HTTPS_PROXY)", "direct"),
        ({"HTTPS_PROXY": "https://one.test/"}, "one.test:443 (HTTPS_PROXY)", "direct"),
        ({"ALL_PROXY": "socks5://one.test"}, "one.test:1080 (ALL_PROXY)", "one.test:1080 (ALL_PROXY)"),
        ({"HTTPS_PROXY": "http://[::1]:8"}, "[::1]:8 (HTTPS_PROXY)", "direct"),
        ({"HTTPS_PROXY": ONE, "HTTP_PROXY": TWO, "ALL_PROXY": "socks://unused"}, "one.test:1 (HTTPS_PROXY)", "two.test:2 (HTTP_PROXY)"),  # noqa: E501 - a row
        ({"ALL_PROXY": "no proxy at all", "NO_PROXY": "*"}, "direct", "direct"),
    ],
)  # fmt: skip
def test_an_address_has_the_proxy_of_its_scheme_or_else_the_one_of_all(
    environment: dict[str, str], secure: str, plain: str
) -> None:
    assert (way(environment, SECURE), way(environment, PLAIN)) == (secure, plain)
    assert way(environment, SECURE) == way(environment, SECURE.replace("https", "wss"))
    assert way(environment, PLAIN) == way(environment, PLAIN.replace("http", "ws"))


@pytest.mark.parametrize(
    ("listed", "url", "is_direct"),
    [
        ("api.binance.com", SECURE, True),
        ("binance.com", SECURE, True),
        (".binance.com", SECURE, True),
        ("*.binance.com", SECURE, True),
        ("BINANCE.COM.", SECURE, True),
        ("example.com, binance.com", SECURE, True),
        ("example.com binance.com", SECURE, True),
        ("nance.com", SECURE, False),
        ("stream.binance.com", SECURE, False),
        ("api.binance.com:443", SECURE, True),
        ("api.binance.com:8443", SECURE, False),
        ("binance.com:9443", "wss://stream.binance.com:9443/ws", True),
        ("x,*", SECURE, True),
        ("127.0.0.1", PLAIN, True),
        ("127.0.0.1:8080", PLAIN, True),
        ("127.0.0.1:81", PLAIN, False),
        ("127.0.0.0/8", PLAIN, True),
        ("10.0.0.0/8", PLAIN, False),
        ("localhost", PLAIN, False),
        ("localhost", "http://localhost:1", True),
        ("::1", "http://[::1]:1", True),
        ("[::1]", "http://[::1]:1", True),
        ("[::1]:1", "http://[::1]:1", True),
        ("[::1]:2", "http://[::1]:1", False),
        ("fe80::/10", "http://[fe80::1]:1", True),
        (",", SECURE, False),
        ("10.0.0.0/99", "http://10.0.0.1", False),
    ],
)
@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_what_is_listed_is_reached_directly(name: str, listed: str, url: str, *, is_direct: bool) -> None:
    assert (way({"ALL_PROXY": ONE, name: listed}, url) == "direct") is is_direct


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (f"ftp://me:{CANARY}@one.test:1", "its scheme is none of http, https, socks5, socks5h"),
        (f"socks4://me:{CANARY}@one.test:1", "its scheme is none of"),
        (f"http://me:{CANARY}@:1", "it has no host"),
        (f"http://me:{CANARY}@one test:1", "it has no host"),
        (f"http://me:{CANARY}@one.test:port", "it is not a proxy address"),
        (f"http://me:{CANARY}@one.test:99999", "it is not a proxy address"),
        (f"http://me:{CANARY}@one.test:0", "its port or path is invalid"),
        (f"http://me:{CANARY}@one.test/path", "its port or path is invalid"),
        (f"http://me:{CANARY}#1@one.test:1", "it is not a proxy address"),
        (f"http://[{CANARY}:1", "it is not a proxy address"),
    ],
)
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_that_cannot_be_one_is_a_line_with_its_variable_and_without_its_value(
    name: str, value: str, said: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({name: value})

    assert caught.value.problems[0].startswith(f"{name}: {said}")
    assert len(caught.value.problems) == 1
    assert CANARY not in caught.value.message + repr(caught.value)


@pytest.mark.parametrize("missing", ["socksio", "python_socks"])
def test_without_the_extra_socks_the_start_names_it(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(SettingsError) as caught:
        read_settings({"ALL_PROXY": f"socks5://me:{CANARY}@one.test:1"})

    assert caught.value.problems[0].startswith("ALL_PROXY: a SOCKS proxy needs the extra socks; install it with: ")
    assert "mcp-binance-server[socks]" in caught.value.message
    assert CANARY not in caught.value.message


def test_credentials_are_handed_to_the_libraries_and_shown_nowhere() -> None:
    settings = read_settings({"HTTPS_PROXY": f"http://m%40e:{CANARY}%2F%23@one.test:1", "ALL_PROXY": ONE})
    proxy = settings.proxies.of(SECURE)

    assert proxy is not None
    assert proxy.credentials == ("m@e", f"{CANARY}/#")
    assert proxy.url == f"http://m%40e:{CANARY}%2F%23@one.test:1"
    assert proxy.address == "http://one.test:1"
    assert settings.proxies.secrets == [f"{CANARY}/#", f"{CANARY}%2F%23"]
    shown = f"{settings!r} {settings} {proxy} {proxy!r} {settings.proxies!r} {explain_status(proxy, 407, 'host')}"
    assert CANARY not in shown
    assert "m@e" not in shown


def test_socks_leaves_names_to_the_proxy_for_both_libraries() -> None:
    proxy = read_settings({"ALL_PROXY": "socks5://me:x@one.test"}).proxies.of(SECURE)

    assert proxy is not None
    assert proxy.url == "socks5h://me:x@one.test:1080"


def test_without_a_variable_the_system_is_asked_and_its_socks_setting_is_left_alone() -> None:
    def system() -> dict[str, str]:
        return {"HTTPS_PROXY": ONE}

    found = read_proxies({"PATH": "/bin"}, system)
    beside = read_proxies({"HTTP_PROXY": TWO}, system)

    assert found == {"HTTPS_PROXY": Proxy(SYSTEM, "http", "one.test", 1)}
    assert [*beside] == ["HTTP_PROXY"]
    assert str(OutgoingProxies(https=Proxy(SYSTEM, "http", "one.test", 1)).of(SECURE)) == "one.test:1 (system settings)"


def test_variables_of_other_programs_are_named() -> None:
    assert unread_variables({"wss_proxy": ONE, "SOCKS_PROXY": ONE, "WS_PROXY": " ", "HTTPS_PROXY": ONE}) == (
        "wss_proxy",
        "SOCKS_PROXY",
    )


@pytest.mark.parametrize(
    ("user", "status", "said"),
    [
        ("", 407, "it asks for a user name and a password; write HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"),
        ("me", 407, "it does not accept the user name and password in HTTPS_PROXY"),
        ("", 403, "it does not allow connections to api.binance.com; ask its operator to allow this host"),
        ("", 502, "it could not reach api.binance.com"),
        ("", 418, "it opens no tunnel to api.binance.com"),
    ],
)
def test_a_proxys_status_says_what_to_do(user: str, status: int, said: str) -> None:
    failure = explain_status(Proxy("HTTPS_PROXY", "http", "one.test", 1, user), status, "api.binance.com")

    assert str(failure).startswith(f"the proxy one.test:1 (HTTPS_PROXY) answered HTTP {status}: {said}")
