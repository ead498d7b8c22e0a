"""The command a client is given works whatever its PATH is, and tomorrow too."""

from collections.abc import Callable

import pytest

from mcp_binance_server.cli.setup.clients import Launcher, find_launcher, system_of, this_machine

IN_UVX = "/home/ann/.cache/uv/archive-v0/Xy12"


def which(*names: str) -> Callable[[str], str | None]:
    """Return a search that finds these names in /bin, and paths where they are."""
    return lambda name: name if name.startswith("/") else f"/bin/{name}" if name in names else None


@pytest.mark.parametrize(
    ("argv0", "prefix", "environment", "found", "expected"),
    [
        ("/opt/v/bin/mcp-binance-server", "/opt/v", {}, (), Launcher("/opt/v/bin/mcp-binance-server")),
        ("mcp-binance-server", "/opt/v", {}, ("mcp-binance-server",), Launcher("/bin/mcp-binance-server")),
        ("/opt/v/bin/binance-provider", "/opt/v", {}, (), Launcher("/opt/v/bin/binance-provider")),
        ("/opt/v/lib/mcp_binance_server/__main__.py", "/opt/v", {}, (), Launcher("/py", ("-m", "mcp_binance_server"))),
        (f"{IN_UVX}/bin/mcp-binance-server", IN_UVX, {}, ("uvx",), Launcher("/bin/uvx", ("mcp-binance-server",))),
        (
            f"{IN_UVX}/bin/mcp-binance-server",
            IN_UVX,
            {"UV": "/home/ann/.local/bin/uv"},
            (),
            Launcher("/home/ann/.local/bin/uv", ("tool", "run", "mcp-binance-server")),
        ),
    ],
)
def test_the_command_is_absolute_and_not_in_a_cache(
    argv0: str, prefix: str, environment: dict[str, str], found: tuple[str, ...], expected: Launcher
) -> None:
    launcher = find_launcher(argv0, "/py", prefix, environment, which(*found))

    assert launcher == expected
    assert launcher.command.startswith("/")


def test_only_a_start_that_may_download_is_slow() -> None:
    assert Launcher("/bin/uvx", ("mcp-binance-server",)).may_be_slow
    assert not Launcher("/bin/mcp-binance-server").may_be_slow
    assert not Launcher("/py", ("-m", "mcp_binance_server")).may_be_slow


def test_this_machine_has_a_home_and_a_launcher() -> None:
    machine = this_machine({}, which())

    assert machine.home
    assert machine.launcher.command
    assert [system_of(name) for name in ("win32", "darwin", "linux")] == ["windows", "macos", "linux"]
