"""Microsoft's Semantic Kernel with a chat model of OpenAI's kind."""

import asyncio

from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.connectors.mcp import MCPStdioPlugin
from surroundings import CHAT_URL, PROMPT, SERVER


async def main():
    async with MCPStdioPlugin(name="binance", command=SERVER, args=[], request_timeout=120) as plugin:
        service = OpenAIChatCompletion(
            ai_model_id="scripted", async_client=AsyncOpenAI(base_url=CHAT_URL, api_key="none")
        )
        choice = FunctionChoiceBehavior.Auto()
        choice.maximum_auto_invoke_attempts = 10
        agent = ChatCompletionAgent(service=service, name="agent", plugins=[plugin], function_choice_behavior=choice)
        await agent.get_response(PROMPT)


asyncio.run(main())
