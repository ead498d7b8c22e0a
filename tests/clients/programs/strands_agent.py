"""AWS's Strands Agents with a chat model of OpenAI's kind."""

from mcp import StdioServerParameters, stdio_client
from strands import Agent
from strands.models.openai import OpenAIModel
from strands.tools.mcp import MCPClient
from surroundings import CHAT_URL, PROMPT, SERVER

client = MCPClient(lambda: stdio_client(StdioServerParameters(command=SERVER, args=[])), startup_timeout=120)
with client:
    model = OpenAIModel(client_args={"base_url": CHAT_URL, "api_key": "none"}, model_id="scripted")
    Agent(model=model, tools=client.list_tools_sync())(PROMPT)
