"""Pages that a host with MCP Apps shows in the chat, beside an answer."""
