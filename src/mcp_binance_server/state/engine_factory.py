"""Choice of the state engine: the memory of one process, or a server that a fleet shares."""

from typing import TYPE_CHECKING

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import SettingsError

if TYPE_CHECKING:
    from mcp_binance_server.state.engine import Reserves, StateEngine

MEMORY = "memory://"


def open_engine(url: str, clock: Clock, *, reserves: "Reserves | None" = None) -> "StateEngine":
    """Create the engine for an address. The engine is not started yet.

    Raises:
        SettingsError: the address or a TLS file in it cannot be used, or a package is not installed.
    """
    if url == MEMORY:
        from mcp_binance_server.state.memory import MemoryEngine  # noqa: PLC0415 - a greeting needs no state

        return MemoryEngine(clock, reserves=reserves)
    try:
        # The client library is imported only if there is a server to use it with.
        from mcp_binance_server.state.redis import RedisEngine  # noqa: PLC0415
        from mcp_binance_server.state.redis.link import StateAddress  # noqa: PLC0415
    except ModuleNotFoundError as error:
        from mcp_binance_server.installation import with_extra  # noqa: PLC0415 - needed only for this hint

        missing = f"MCP_BINANCE_STATE_URL: {error.name} is missing: {with_extra('fleet')}"
        raise SettingsError(problems=(missing,)) from None
    address = StateAddress.parse(url)
    address.check_files()
    return RedisEngine(address, clock, reserves=reserves)
