"""OpenAI's Agents SDK for Python, on the Responses API."""

import asyncio

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI
from surroundings import CHAT_URL, PROMPT, SERVER

set_tracing_disabled(True)


async def main():
    async with MCPServerStdio(params={"command": SERVER, "args": []}, client_session_timeout_seconds=120) as server:
        model = OpenAIResponsesModel("scripted", AsyncOpenAI(base_url=CHAT_URL, api_key="none"))
        agent = Agent(name="agent", instructions=PROMPT, mcp_servers=[server], model=model)
        await Runner.run(agent, PROMPT, max_turns=20)


asyncio.run(main())
