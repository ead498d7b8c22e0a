"""LangChain: an agent of LangGraph with the tools of langchain-mcp-adapters."""

import asyncio

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI
from surroundings import CHAT_URL, PROMPT, SERVER


async def main():
    client = MultiServerMCPClient({"binance": {"transport": "stdio", "command": SERVER, "args": []}})
    async with client.session("binance") as session:
        tools = await load_mcp_tools(session)
        for each in tools:
            each.handle_tool_error = True
        agent = create_agent(ChatOpenAI(model="scripted", base_url=CHAT_URL, api_key="none"), tools)
        await agent.ainvoke({"messages": [("user", PROMPT)]}, {"recursion_limit": 60})


asyncio.run(main())
