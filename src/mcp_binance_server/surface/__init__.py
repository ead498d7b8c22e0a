"""Interface for MCP clients: resources, tools, prompts, completions and errors."""
