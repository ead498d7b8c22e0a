"""Charts: the client of chart-img.com, a local renderer, and natural language as input.

A chart has two JSON dialects. The tools' dialect is what MCP clients send; the service's dialect is what chart-img.com
accepts.
"""
