"""Interactive pages (MCP Apps) that a host shows in the chat, next to an answer."""
