"""Google's Agent Development Kit with a Gemini model."""

import asyncio
import os

from surroundings import MODEL_URL, PROMPT, SERVER

os.environ.update(GOOGLE_API_KEY="none", GOOGLE_GEMINI_BASE_URL=MODEL_URL, GOOGLE_GENAI_USE_VERTEXAI="FALSE")

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.genai import types
from mcp import StdioServerParameters


async def main():
    parameters = StdioServerParameters(command=SERVER, args=[])
    toolset = McpToolset(connection_params=StdioConnectionParams(server_params=parameters, timeout=120))
    agent = LlmAgent(name="agent", model="gemini-2.5-flash", instruction=PROMPT, tools=[toolset])
    runner = InMemoryRunner(agent=agent, app_name="tests")
    session = await runner.session_service.create_session(app_name="tests", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text=PROMPT)])
    async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        pass
    await toolset.close()


asyncio.run(main())
