"""Charts: the client of chart-img.com, a local renderer, and natural language as input.

A chart has two JSON dialects. MCP clients send the tools' dialect, and chart-img.com accepts the service's dialect.
"""
