"""Whether the extra `grpc` is installed; asked before anything of it is imported."""

from importlib.util import find_spec

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.installation import with_extra

NEEDED = ("grpc", "grpc_health", "grpc_reflection")


def require_grpc() -> None:
    """Make sure that the service can start.

    Raises:
        SettingsError: a package is missing; the message says how to install it.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise SettingsError(
            problems=(
                f"--grpc needs packages that are not installed ({', '.join(missing)}); "
                f"install them with: {with_extra('grpc')}",
            )
        )
