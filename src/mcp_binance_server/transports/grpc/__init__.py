"""gRPC service provider.v1, a separate protocol from MCP; needs the optional dependency `grpc`."""
