"""Which Host and which Origin pass: every row once fooled somebody's parser."""

import pytest

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.http.admission.hosts import Allowed, allow

LISTED = allow(
    hosts=("127.0.0.1:*", "localhost:*", "[::1]:*", "mcp.example.com", "Proxy.Example.com:8443", "my_box:*"),
    origins=("http://localhost:*", "https://app.example.com", "https://app.example.com:8443", "vscode-webview://abc"),
)
GOOD_HOSTS = (
    "127.0.0.1", "127.0.0.1:1", "127.0.0.1:8000", "127.0.0.1:65535", "localhost", "LOCALHOST:80", "LocalHost:8000",
    "[::1]", "[::1]:8000", "[0:0:0:0:0:0:0:1]:8000", "[::0001]", "mcp.example.com", "MCP.example.COM",
    "proxy.example.com:8443", "my_box:99",
)  # fmt: skip
BAD_HOSTS = (
    "", " ", "evil.com", "127.0.0.1:8000@evil.com", "localhost:8000@evil.com", "user@localhost", "user:pass@localhost",
    "localhost:evil.com", "localhost.evil.com", "evil-localhost", "localhost.", "localhost:", "localhost:0",
    "localhost:65536", "localhost:99999", "localhost:080", "localhost:+80", "localhost:8e3", "localhost:80 ",
    " localhost", "local host", "localhost\t", "localhost/", "localhost/x", "localhost?x", "localhost#x",
    "localhost,evil", "localhost:80:80", "localhost:80,80", "http://localhost", "//localhost", "127.0.0.1.evil.com",
    "127.1", "127.0.0.01", "0127.0.0.1", "0x7f.1", "2130706433", "127.0.0.2", "127.0.0.1.", "::1", "[::1", "::1]",
    "[::1]x", "[::1%25lo]", "[::1]:", "[::ffff:127.0.0.1]", "[127.0.0.1]", "[]", "[:::1]", "mcp.example.com:443",
    "proxy.example.com", "proxy.example.com:8444", "*", "*:80", "localhost:*", "localhost%00", "localhost%2eevil",
    "\uff4cocalhost", "localhost\x00", "localhost\\@evil", "..", "localhost..", "x" * 300, "1" * 16_000,
)  # fmt: skip
GOOD_ORIGINS = (
    "http://localhost", "http://localhost:3000", "HTTP://LOCALHOST:3000", "https://app.example.com",
    "https://app.example.com:8443", "vscode-webview://abc",
)  # fmt: skip
BAD_ORIGINS = (
    "", "null", "Null", "*", "localhost", "//localhost", "http:localhost", "http:/localhost", "http:///localhost",
    "http://", "http://localhost/", "http://localhost/x", "http://localhost?x", "http://localhost#x",
    "http://localhost:", "http://localhost:evil.com", "http://localhost:80@evil.com", "http://localhost@evil.com",
    "http://user@localhost", "http://localhost.evil.com", "http://evil.com", "http://evil.com#localhost",
    "http://localhost http://evil.com", "http://localhost, http://evil.com", " http://localhost", "http://localhost ",
    "https://localhost:3000", "ftp://localhost", "file://", "file:///etc/passwd", "javascript://localhost",
    "http://app.example.com", "https://app.example.com:443", "https://app.example.com.", "https://app.example.com:8444",
    "https://evilapp.example.com", "http://localhost:*", "http://localhost:0", "http://localhost:65536",
    "vscode-webview://abcd", "1http://localhost", "http://[::1]", "http://127.0.0.1",
)  # fmt: skip


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_a_host_of_ours_passes_in_any_spelling_that_means_the_same(host: str) -> None:
    assert LISTED.is_host([host.encode()])


@pytest.mark.parametrize("host", BAD_HOSTS, ids=lambda host: ascii(host[:30]))
def test_any_other_host_is_turned_away(host: str) -> None:
    assert not LISTED.is_host([host.encode()])


@pytest.mark.parametrize("origin", GOOD_ORIGINS)
def test_an_origin_on_the_list_passes(origin: str) -> None:
    assert LISTED.is_origin([origin.encode()])


@pytest.mark.parametrize("origin", BAD_ORIGINS)
def test_any_other_origin_is_turned_away(origin: str) -> None:
    assert not LISTED.is_origin([origin.encode()])


def test_no_host_and_two_hosts_are_turned_away_while_no_origin_is_what_programs_send() -> None:
    assert not LISTED.is_host([])
    assert not LISTED.is_host([b"localhost", b"localhost"])
    assert LISTED.is_origin([])
    assert not LISTED.is_origin([b"http://localhost", b"http://localhost"])


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
@pytest.mark.parametrize("port", ["", ":8000", ":41234"])
def test_loopback_passes_by_default_on_any_port(name: str, port: str) -> None:
    default = allow()

    assert default.is_host([f"{name}{port}".encode()])
    assert default.is_origin([f"http://{name}{port}".encode()])
    assert not default.is_host([b"evil.com" + port.encode()])
    assert not default.is_origin([b"http://evil.com" + port.encode()])


def test_an_empty_list_lets_nobody_in() -> None:
    nobody = allow((), ())

    assert nobody == Allowed(frozenset(), frozenset())
    assert not nobody.is_host([b"localhost"])
    assert not nobody.is_origin([b"http://localhost"])


@pytest.mark.parametrize("host", ["", "*", "http://localhost", "localhost:", "localhost:80:*", "a b", "a/b", "*.a.com"])
def test_a_list_that_means_nothing_is_refused_when_it_is_read(host: str) -> None:
    with pytest.raises(SettingsError, match="not an allowed host"):
        allow((host,))


@pytest.mark.parametrize("origin", ["", "*", "null", "localhost", "http://localhost/", "http://localhost:1:*"])
def test_so_is_a_list_of_origins(origin: str) -> None:
    with pytest.raises(SettingsError, match="not an allowed origin"):
        allow((), (origin,))
