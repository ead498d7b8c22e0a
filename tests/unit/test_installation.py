"""Hints fit how the program was installed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_binance_server.installation import own_command, reinstall_command, way_of, with_extra, with_package


def uvx(folder: Path) -> Path:
    return folder / "uv" / "archive-v0" / "Xy12"


def uv_tool(folder: Path) -> Path:
    (folder / "uv-receipt.toml").touch()
    return folder


def pipx(folder: Path) -> Path:
    (folder / "pipx_metadata.json").touch()
    return folder


def pip(folder: Path) -> Path:
    return folder


@pytest.mark.parametrize(
    ("made_by", "told"),
    [
        (
            uvx,
            (
                "uvx",
                "uvx --from 'mcp-binance-server[grpc]' mcp-binance-server",
                "uvx --with keyring mcp-binance-server",
                "uvx --refresh mcp-binance-server --version",
            ),
        ),
        (
            uv_tool,
            (
                "uv tool",
                "uv tool install --force 'mcp-binance-server[grpc]'",
                "uv tool install --force --with keyring mcp-binance-server",
                "uv tool install --force mcp-binance-server",
            ),
        ),
        (
            pipx,
            (
                "pipx",
                "pipx install --force 'mcp-binance-server[grpc]'",
                "pipx inject mcp-binance-server keyring",
                "pipx reinstall mcp-binance-server",
            ),
        ),
        (
            pip,
            (
                "pip",
                "pip install 'mcp-binance-server[grpc]'",
                "pip install keyring",
                "pip install --force-reinstall mcp-binance-server",
            ),
        ),
    ],
)
def test_a_hint_is_a_command_of_the_tool_that_installed_it(
    made_by: Callable[[Path], Path], told: tuple[str, ...], tmp_path: Path
) -> None:
    prefix = str(made_by(tmp_path))

    hints = way_of(prefix), with_extra("grpc", prefix), with_package("keyring", prefix), reinstall_command(prefix)

    assert hints == told


@pytest.mark.parametrize(
    ("argv0", "made_by", "typed"),
    [
        ("/home/ann/.local/bin/mcp-binance-server", uv_tool, "mcp-binance-server"),
        (r"C:\bin\binance-provider.exe".replace("\\", "/"), pip, "binance-provider"),
        ("/x/mcp_binance_server/__main__.py", pip, "python -m mcp_binance_server"),
        ("/x/mcp-binance-server", uvx, "uvx mcp-binance-server"),
    ],
)
def test_the_words_that_start_it_are_those_that_started_it(
    argv0: str, made_by: Callable[[Path], Path], typed: str, tmp_path: Path
) -> None:
    assert own_command(argv0, str(made_by(tmp_path))) == typed
