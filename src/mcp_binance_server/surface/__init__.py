"""What an MCP client sees: resources, tools, prompts, completions and errors."""
