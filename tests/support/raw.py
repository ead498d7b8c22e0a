"""Raw JSON-RPC against a server, without the SDK's client in between."""

import json
from collections.abc import Sequence
from typing import Any

import anyio
from mcp.server.lowlevel import Server

from mcp_binance_server.transports.stdio import Reader, Writer

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}},
}
INITIALIZED: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(request_id: str | int, method: str, params: dict[str, Any], *, modern: bool = False) -> dict[str, Any]:
    """Return a request of either era."""
    sent = {**params, "_meta": ENVELOPE} if modern else params
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": sent}


def lines_of(messages: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in messages)


async def talk(server: Server[Any], sent: bytes) -> list[dict[str, Any]]:
    """Feed bytes to a server as its standard input and return every line it writes."""
    chunks, written = [sent, b""], bytearray()

    async def read_chunk() -> bytes:
        await anyio.lowlevel.checkpoint()
        return chunks.pop(0)

    async def write_all(data: bytes) -> None:
        written.extend(data)

    writer = Writer(write_all)
    await server.run(Reader(read_chunk, writer), writer, server.create_initialization_options())
    return [json.loads(line) for line in bytes(written).splitlines()]


async def ask_in_memory(server: Server[Any], method: str, params: dict[str, Any], *, modern: bool = False) -> Any:  # noqa: ANN401 - JSON
    """Return the result, or the error, of one request."""
    opening = [] if modern else [INITIALIZE, INITIALIZED]
    answers = await talk(server, lines_of([*opening, request(1, method, params, modern=modern)]))
    (answer,) = [message for message in answers if message["id"] == 1]
    return answer.get("result") or answer["error"]
