"""Microsoft's AutoGen with a chat model of OpenAI's kind."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams
from surroundings import CHAT_URL, PROMPT, SERVER

ABLE = {"vision": True, "function_calling": True, "json_output": True, "family": "gpt-4o", "structured_output": True}


async def main():
    async with McpWorkbench(StdioServerParams(command=SERVER, args=[], read_timeout_seconds=120)) as workbench:
        model = OpenAIChatCompletionClient(model="gpt-4o", base_url=CHAT_URL, api_key="none", model_info=ABLE)
        agent = AssistantAgent("agent", model_client=model, workbench=workbench, max_tool_iterations=20)
        await agent.run(task=PROMPT)


asyncio.run(main())
