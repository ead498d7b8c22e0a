"""gRPC service provider.v1, a separate protocol from MCP. Needs the optional dependency `grpc`."""
