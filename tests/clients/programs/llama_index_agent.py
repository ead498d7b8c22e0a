"""LlamaIndex, which starts a server for each call."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from surroundings import CHAT_URL, PROMPT, SERVER


async def main():
    tools = await McpToolSpec(BasicMCPClient(SERVER, args=[], timeout=120)).to_tool_list_async()
    model = OpenAILike(
        model="scripted", api_base=CHAT_URL, api_key="none", is_chat_model=True, is_function_calling_model=True
    )
    await FunctionAgent(tools=tools, llm=model).run(PROMPT)


asyncio.run(main())
