"""Interactive pages that a host with MCP Apps shows in the chat, next to an answer."""
