"""Commands as the shell of this system wants them typed."""

import sys
from collections.abc import Sequence

WINDOWS = "win32"


def forget(names: Sequence[str], platform: str = sys.platform) -> str:
    """Return the command that takes variables out of the environment."""
    if platform == WINDOWS:
        return "; ".join(f"Remove-Item Env:{name}" for name in names)
    return f"unset {' '.join(names)}"


def export(name: str, value: str, platform: str = sys.platform) -> str:
    """Return the command that sets a variable."""
    return f'$env:{name}="{value}"' if platform == WINDOWS else f"export {name}={value}"


def knock(host: str, port: int, platform: str = sys.platform) -> str:
    """Return the command that tries a port."""
    return f"Test-NetConnection {host} -Port {port}" if platform == WINDOWS else f"nc -vz {host} {port}"


def set_clock(platform: str = sys.platform) -> str:
    """Return the command that sets the clock by the network."""
    usual = "sudo timedatectl set-ntp true"
    return {WINDOWS: "w32tm /resync", "darwin": "sudo sntp -sS time.apple.com"}.get(platform, usual)
