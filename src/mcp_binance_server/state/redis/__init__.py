"""State engine of a fleet, on one Redis or Valkey server. It needs the extra `fleet`."""

from mcp_binance_server.state.redis.engine import RedisEngine

__all__ = ["RedisEngine"]
