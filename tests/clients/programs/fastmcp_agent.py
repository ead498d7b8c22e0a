"""FastMCP's client, with its tools called in the loop of an agent on the Chat Completions API."""

import asyncio
import json
from urllib.request import Request, urlopen

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from surroundings import CHAT_URL, PROMPT, SERVER


def shown(part):
    if part.type == "image":
        return {"type": "image_url", "image_url": {"url": f"data:{part.mimeType};base64,{part.data}"}}
    return {"type": "text", "text": part.text}


def asked(body):
    with urlopen(Request(f"{CHAT_URL}/chat/completions", json.dumps(body).encode())) as reply:  # noqa: S310 - loopback
        return json.load(reply)


async def main():
    server = SERVER if SERVER.startswith("http://") else StdioTransport(SERVER, [])
    async with Client(server, timeout=120) as client:
        instructions = client.instructions or ""
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": PROMPT}]
        tools = [
            {"type": "function", "function": {"name": each.name, "parameters": each.inputSchema}}
            for each in await client.list_tools()
        ]
        while True:
            reply = await asyncio.to_thread(asked, {"messages": messages, "tools": tools})
            message = reply["choices"][0]["message"]
            if "tool_calls" not in message:
                return
            messages.append(message)
            for call in message["tool_calls"]:
                function = call["function"]
                result = await client.call_tool(
                    function["name"], json.loads(function["arguments"]), raise_on_error=False
                )
                content = [shown(each) for each in result.content]
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})


asyncio.run(main())
