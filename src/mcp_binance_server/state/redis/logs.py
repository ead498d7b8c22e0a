"""Logs of all workers, kept by Lua scripts."""

import msgspec

from mcp_binance_server.state.logs import LogMark, LogPart
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.keys import APPEND_LOG, READ_LOG, TRIM_LOG, Reply
from mcp_binance_server.state.redis.link import Link

_HEAD = tuple[int, int, int, bytes, int, bytes]


class SharedLogs:
    """Logs in which no two processes write the same position."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def append(self, log: str, entry: bytes, after: LogMark, tag: str, ttl_ms: int) -> LogPart:
        words = (after.position, after.tag, tag, entry, ttl_ms)
        return _part(await self._link.run("append_log", APPEND_LOG, (keys.log(log),), *words))

    async def since(self, log: str, after: LogMark) -> LogPart:
        return _part(await self._link.run("read_log", READ_LOG, (keys.log(log),), after.position, after.tag))

    async def trim(self, log: str, snapshot: bytes, at: LogMark, ttl_ms: int) -> bool:
        words = (at.position, at.tag, snapshot, ttl_ms)
        return await self._link.run("trim_log", TRIM_LOG, (keys.log(log),), *words) == 1


def _part(reply: Reply) -> LogPart:
    told = msgspec.convert(reply, list[int | bytes])
    is_appended, is_whole, position, tag, kept, snapshot = msgspec.convert(told[:6], _HEAD)
    entries = tuple(msgspec.convert(told[6:], list[bytes]))
    end = LogMark(position, tag.decode())
    return LogPart(end, entries, kept, snapshot or None, bool(is_whole), bool(is_appended))
