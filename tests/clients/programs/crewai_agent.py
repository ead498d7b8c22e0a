"""CrewAI with a chat model of OpenAI's kind."""

import os

from surroundings import CHAT_URL, PROMPT, SERVER

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from crewai import LLM, Agent, Crew, Task
from crewai_tools import MCPServerAdapter
from mcp import StdioServerParameters

with MCPServerAdapter(StdioServerParameters(command=SERVER, args=[]), connect_timeout=120) as tools:
    model = LLM(model="openai/gpt-4o", base_url=CHAT_URL, api_key="none")
    agent = Agent(role="trader", goal=PROMPT, backstory="none", tools=tools, llm=model, max_iter=12)
    Crew(agents=[agent], tasks=[Task(description=PROMPT, expected_output="none", agent=agent)]).kickoff()
