"""Every way into one server, behind one face: what a test asks does not depend on how it is carried."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import httpx2
from grpc.aio import AioRpcError
from mcp import Client, MCPError, types
from mcp.client.sse import sse_client
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc

from mcp_binance_server.app import App
from mcp_binance_server.transports.grpc.errors import ERROR_KEY
from mcp_binance_server.transports.stdio import Reader, Writer
from support.provider import Provider, provided
from support.webapp import served_http

CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Listing:
    """The names of what a server offers, in its order."""

    tools: list[str]
    resources: list[str]
    templates: list[str]
    prompts: list[str]


@dataclass(frozen=True, slots=True)
class Called:
    """What a tool answered."""

    text: str
    structured: dict[str, Any]
    is_error: bool


class Refused(Exception):
    """An error of ours, as a client meets it."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, dict(data or {})

    @property
    def contract_code(self) -> int:
        """The contract's number, which one era has to write in another way."""
        return self.data.get("contract_code", self.code)


class AnyTransport(Protocol):
    """What a client can do, over whichever transport."""

    async def listed(self) -> Listing: ...
    async def read(self, uri: str) -> str: ...
    async def prompt(self, name: str, arguments: dict[str, str]) -> str: ...
    async def call(self, name: str, arguments: dict[str, Any]) -> Called: ...


class ClientDoor:
    """The SDK's own client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def listed(self) -> Listing:
        client = self._client
        return Listing(
            [each.name for each in (await client.list_tools()).tools],
            [each.uri for each in (await client.list_resources()).resources],
            [each.uri_template for each in (await client.list_resource_templates()).resource_templates],
            [each.name for each in (await client.list_prompts()).prompts],
        )

    async def read(self, uri: str) -> str:
        result = await _told(self._client.read_resource(uri))
        (content,) = result.contents
        assert isinstance(content, types.TextResourceContents)
        return content.text

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        result = await _told(self._client.get_prompt(name, arguments))
        (message,) = result.messages
        assert isinstance(message.content, types.TextContent)
        return message.content.text

    async def call(self, name: str, arguments: dict[str, Any]) -> Called:
        result = await _told(self._client.call_tool(name, arguments))
        assert isinstance(result.content[0], types.TextContent)
        return Called(result.content[0].text, result.structured_content or {}, bool(result.is_error))


class SseHttp:
    """The data model's two addresses, with nothing but an HTTP client."""

    def __init__(self, http: httpx2.AsyncClient, connection_id: str) -> None:
        self._http = http
        self._connection_id = connection_id
        self._asked = 0

    async def listed(self) -> Listing:
        return Listing(
            [each["name"] for each in (await self._ask("tools/list"))["tools"]],
            [each["uri"] for each in (await self._ask("resources/list"))["resources"]],
            [each["uriTemplate"] for each in (await self._ask("resources/templates/list"))["resourceTemplates"]],
            [each["name"] for each in (await self._ask("prompts/list"))["prompts"]],
        )

    async def read(self, uri: str) -> str:
        (content,) = (await self._ask("resources/read", uri=uri))["contents"]
        return content["text"]

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        (message,) = (await self._ask("prompts/get", name=name, arguments=arguments))["messages"]
        return message["content"]["text"]

    async def call(self, name: str, arguments: dict[str, Any]) -> Called:
        result = await self._ask("tools/call", name=name, arguments=arguments)
        return Called(result["content"][0]["text"], result.get("structuredContent", {}), result.get("isError", False))

    async def _ask(self, method: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        self._asked += 1
        response = await self._http.post(
            "/mcp/message",
            headers={"Connection-ID": self._connection_id},
            json={"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params},
        )
        answer = response.json()
        assert (response.status_code, answer["id"]) == (200, self._asked)
        if "error" in answer:
            raise Refused(answer["error"]["code"], answer["error"]["message"], answer["error"].get("data"))
        return answer["result"]


class ProviderDoor:
    """The provider.v1 service, which is not MCP."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def listed(self) -> Listing:
        found = await self._provider.capabilities()
        return Listing(
            [each.name for each in found.tools],
            [each.uri for each in found.resources],
            [each.uri_template for each in found.templates],
            [each.name for each in found.prompts],
        )

    async def read(self, uri: str) -> str:
        (content,) = (await _served(self._provider.read(uri))).contents
        return content.text

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        (message,) = (await _served(self._provider.prompt(name, arguments))).messages
        return message.text

    async def call(self, name: str, arguments: dict[str, Any]) -> Called:
        answer = await _served(self._provider.invoke(name, arguments))
        return Called(answer.text, json.loads(answer.structured_json or "{}"), answer.is_error)


async def _served(asked: Awaitable[Any]) -> Any:  # noqa: ANN401 - the service's messages
    try:
        return await asked
    except AioRpcError as refused:
        error = json.loads(dict(refused.trailing_metadata() or ())[ERROR_KEY])
        raise Refused(error["code"], error["message"], error.get("data")) from None


async def _told(asked: Awaitable[Any]) -> Any:  # noqa: ANN401 - the SDK's results
    try:
        return await asked
    except MCPError as error:
        raise Refused(error.code, error.message, error.data) from None


@asynccontextmanager
async def _in_memory(app: App, era: str) -> AsyncGenerator[AnyTransport]:
    async with Client(app.server, mode=era, cache=None) as client:
        yield ClientDoor(client)


@asynccontextmanager
async def piped(app: App) -> AsyncGenerator[Any]:
    """Carry bytes in small pieces between the SDK's client and our reader and writer of lines."""
    up_send, up_receive = anyio.create_memory_object_stream[bytes](1_000)
    down_send, down_receive = anyio.create_memory_object_stream[SessionMessage | Exception](1_000)

    async def read_chunk() -> bytes:
        try:
            return await up_receive.receive()
        except anyio.EndOfStream:
            return b""

    async def write_all(data: bytes) -> None:
        message = jsonrpc.jsonrpc_message_adapter.validate_json(data)
        await down_send.send(SessionMessage(message))

    async def speak() -> None:
        async with client_receive:
            async for item in client_receive:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                for start in range(0, len(line), CHUNK):
                    await up_send.send(line[start : start + CHUNK])
        up_send.close()

    client_send, client_receive = anyio.create_memory_object_stream[SessionMessage](0)
    writer = Writer(write_all)
    async with up_send, up_receive, down_send, down_receive, anyio.create_task_group() as group:
        group.start_soon(speak)
        options = app.server.create_initialization_options()
        group.start_soon(app.server.run, Reader(read_chunk, writer), writer, options)
        yield down_receive, client_send
        client_send.close()


@asynccontextmanager
async def _over_pipes(app: App, era: str) -> AsyncGenerator[AnyTransport]:
    async with Client(piped(app), mode=era, cache=None) as client:
        yield ClientDoor(client)


@asynccontextmanager
async def _over_http(app: App, era: str) -> AsyncGenerator[AnyTransport]:
    async with served_http(app) as url, Client(f"{url}/mcp", mode=era, cache=None) as client:
        yield ClientDoor(client)


@asynccontextmanager
async def _over_events(app: App, era: str) -> AsyncGenerator[AnyTransport]:
    async with served_http(app) as url, Client(sse_client(f"{url}/mcp/sse"), mode=era, cache=None) as client:
        yield ClientDoor(client)


@asynccontextmanager
async def _over_the_pair(app: App, _era: str) -> AsyncGenerator[AnyTransport]:
    async with served_http(app) as url, httpx2.AsyncClient(base_url=url, timeout=30) as http:
        opened = await http.post("/mcp/sse")
        yield SseHttp(http, opened.headers["Connection-ID"])
        await http.delete("/mcp/sse", headers={"Connection-ID": opened.headers["Connection-ID"]})


@asynccontextmanager
async def _over_grpc(app: App, _era: str) -> AsyncGenerator[AnyTransport]:
    async with provided(app.dispatcher) as provider:
        yield ProviderDoor(provider)


OpenTransport = Callable[[App], AbstractAsyncContextManager[AnyTransport]]
TRANSPORTS: dict[str, OpenTransport] = {
    "memory, handshake": lambda app: _in_memory(app, "legacy"),
    "memory, 2026-07-28": lambda app: _in_memory(app, "auto"),
    "stdio, handshake": lambda app: _over_pipes(app, "legacy"),
    "stdio, 2026-07-28": lambda app: _over_pipes(app, "auto"),
    "http, handshake": lambda app: _over_http(app, "legacy"),
    "http, 2026-07-28": lambda app: _over_http(app, "auto"),
    "events, handshake": lambda app: _over_events(app, "legacy"),
    "the pair": lambda app: _over_the_pair(app, ""),
    "gRPC": lambda app: _over_grpc(app, ""),
}
