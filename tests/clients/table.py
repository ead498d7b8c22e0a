"""The clients of the matrix: where each is installed, how it is started, and the facts that it does not pass on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from clients.model import Step

NPM, NPM_NIGHT = "npm", "npm-night"
# Facts that do not reach the model, with the reason.
SILENT = {"instructions": "instructions are not shown"}
BLIND = {"picture": "the picture is dropped"}
LINKED = {"picture": "the picture is sent as an address (`MCP_BINANCE_CHART_IMAGES=link`), else it arrives as text"}
# For clients that pass pictures to the model as text.
LINKS = {"MCP_BINANCE_CHART_IMAGES": "link"}


@dataclass(frozen=True)
class Client:
    """A client; `$server`, `$model` and `$home` in its texts stand for the command, the model and its folder."""

    name: str
    title: str
    package: str
    place: str  # npm, npm-night, or the environment of requirements/clients-PLACE.txt
    command: Sequence[str]
    files: Mapping[str, str] = field(default_factory=dict[str, str])  # of `configs`, by their places at home
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    lacks: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])  # of the server
    has_search: bool = False  # it offers tools after a search, and calls them by a tool of its own
    is_night: bool = False
    patience_secs: float = 60.0

    def worded(self, script: Sequence[Step]) -> Sequence[Step]:
        """Return the script in the words of this client."""
        if not self.has_search:
            return script
        called = [
            Step("tool_call", {"name": f"mcp__binance__{each.tool}", "arguments": each.arguments}) for each in script
        ]
        return [Step("tool_search", {"query": "select:mcp__binance__get_ticker"}), *called]

    def version(self, installed: Path) -> str:
        """Return the installed version."""
        if self.place in (NPM, NPM_NIGHT):
            package = installed / self.place / "node_modules" / self.package / "package.json"
            return str(msgspec.json.decode(package.read_bytes())["version"])
        name = self.package.replace("-", "_").lower()
        (found,) = (installed / self.place).glob(f"lib/python*/site-packages/{name}-*.dist-info")
        return found.name.removesuffix(".dist-info").rpartition("-")[2]


def _python(
    place: str,
    title: str,
    package: str,
    program: str,
    lacks: Mapping[str, str] | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    is_night: bool = True,
) -> Client:
    return Client(
        place, title, package, place, ("python", program), lacks=lacks or {}, settings=settings or {},
        is_night=is_night, patience_secs=120.0 if is_night else 60.0,
    )  # fmt: skip


def _cli(
    name: str,
    title: str,
    package: str,
    command: Sequence[str],
    *,
    files: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    lacks: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    has_search: bool = False,
) -> Client:
    return Client(
        name, title, package, NPM_NIGHT, command, files or {}, variables or {}, lacks or {}, settings or {}, has_search,
        is_night=True, patience_secs=120.0,
    )  # fmt: skip


TYPESCRIPT_1 = Client("typescript-1", "TypeScript SDK 1", "@modelcontextprotocol/sdk", NPM, ("node", "ts1.mjs"))
TYPESCRIPT_2 = Client("typescript-2", "TypeScript SDK 2", "@modelcontextprotocol/client", NPM, ("node", "ts2.mjs"))
FASTMCP = _python("fastmcp", "FastMCP", "fastmcp", "fastmcp_agent.py", is_night=False)
MCP_REMOTE = Client("mcp-remote", "mcp-remote", "mcp-remote", NPM, ("node", "ts1.mjs"))
COMMIT = (
    TYPESCRIPT_1,
    TYPESCRIPT_2,
    MCP_REMOTE,
    Client(
        "ai-sdk", "Vercel AI SDK", "@ai-sdk/mcp", NPM, ("node", "ai_sdk.mjs"),
        lacks={**LINKED, **SILENT}, settings=LINKS,
    ),
    _python("langchain", "LangChain", "langchain-mcp-adapters", "langchain_agent.py", SILENT, is_night=False),
    _python("openai-agents", "OpenAI Agents SDK", "openai-agents", "openai_agent.py", SILENT, is_night=False),
    FASTMCP,
)  # fmt: skip

PROMPT = "Use the tools."
CLINE = f"""cline auth --provider openai --apikey none --modelid scripted --baseurl $model/v1
exec cline --yolo '{PROMPT}'"""

NIGHT = (
    _cli(
        "codex", "OpenAI Codex", "@openai/codex",
        ("codex", "exec", "--skip-git-repo-check", "--sandbox", "read-only", PROMPT),
        files={".codex/config.toml": "codex.toml"},
    ),
    _cli(
        "claude-code", "Claude Code", "@anthropic-ai/claude-code",
        ("node_modules/@anthropic-ai/claude-code-linux-*/claude", "-p", PROMPT, "--mcp-config", "servers.json",
         "--strict-mcp-config", "--allowedTools", "mcp__binance"),
        files={"servers.json": "servers.json"},
        variables={
            "ANTHROPIC_BASE_URL": "$model", "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "0",
            "MCP_CONNECTION_NONBLOCKING": "0",
        },
    ),
    _cli(
        "gemini", "Gemini CLI", "@google/gemini-cli",
        ("gemini", "-p", PROMPT, "--approval-mode", "yolo", "-m", "gemini-2.5-flash"),
        files={".gemini/settings.json": "gemini.json"},
        variables={
            "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "$model", "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
    ),
    _cli(
        "qwen", "Qwen Code", "@qwen-code/qwen-code", ("qwen", "-p", PROMPT, "--approval-mode", "yolo"),
        files={".qwen/settings.json": "qwen.json"},
        variables={"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "$model/v1", "OPENAI_MODEL": "gpt-4o"},
        lacks={"tools": "tools are shown after a search"}, has_search=True,
    ),
    _cli(
        "opencode", "opencode", "opencode-ai", ("node_modules/opencode-linux-*/bin/opencode", "run", PROMPT),
        files={"opencode.json": "opencode.json"},
        variables={
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
    ),
    _cli(
        "continue", "Continue", "@continuedev/cli", ("cn", "-p", PROMPT, "--config", "$home/config.yaml", "--auto"),
        files={"config.yaml": "continue.yaml"}, lacks={**LINKED, **SILENT}, settings=LINKS,
    ),
    _cli(
        "cline", "Cline", "cline", ("sh", "-c", CLINE),
        files={".cline/data/settings/cline_mcp_settings.json": "cline.json"},
        lacks={**LINKED, **SILENT}, settings=LINKS,
    ),
    _cli("agents-js", "OpenAI Agents SDK (JavaScript)", "@openai/agents", ("node", "agents_js.mjs"), lacks=SILENT),
    _cli("mastra", "Mastra", "@mastra/mcp", ("node", "mastra.mjs"), lacks=SILENT),
    _python("pydantic-ai", "pydantic-ai", "pydantic-ai", "pydantic_agent.py", SILENT),
    _python("google-adk", "Google ADK", "google-adk", "adk_agent.py", {**LINKED, **SILENT}, settings=LINKS),
    _python("autogen", "AutoGen", "autogen-agentchat", "autogen_agent.py", {**LINKED, **SILENT}, settings=LINKS),
    _python(
        "llama-index", "LlamaIndex", "llama-index-tools-mcp", "llama_index_agent.py",
        {**LINKED, **SILENT}, settings=LINKS,
    ),
    _python(
        "semantic-kernel", "Semantic Kernel", "semantic-kernel", "kernel_agent.py",
        {**LINKED, **SILENT}, settings=LINKS,
    ),
    _python("crewai", "CrewAI", "crewai", "crewai_agent.py", {**BLIND, **SILENT}),
    _python("smolagents", "smolagents", "smolagents", "smolagents_agent.py", {**BLIND, **SILENT}),
    _python("strands", "Strands Agents", "strands-agents", "strands_agent.py", SILENT),
)  # fmt: skip
CLIENTS = (*COMMIT, *NIGHT)
