"""pydantic-ai with a chat model of OpenAI's kind."""

import asyncio

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from surroundings import CHAT_URL, PROMPT, SERVER


async def main():
    toolset = MCPToolset(StdioTransport(command=SERVER, args=[]))
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=CHAT_URL, api_key="none"))
    agent = Agent(model, toolsets=[toolset], retries=3)
    async with agent:
        await agent.run(PROMPT)


asyncio.run(main())
