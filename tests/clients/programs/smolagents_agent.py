"""Hugging Face's smolagents with a chat model of OpenAI's kind."""

from mcp import StdioServerParameters
from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent
from surroundings import CHAT_URL, PROMPT, SERVER

client = MCPClient(StdioServerParameters(command=SERVER, args=[]), structured_output=False)
try:
    model = OpenAIServerModel("scripted", api_base=CHAT_URL, api_key="none")
    ToolCallingAgent(tools=client.get_tools(), model=model, max_steps=7).run(PROMPT)
finally:
    client.disconnect()
