"""The provider.v1 service over gRPC, which is not MCP; needs the extra `grpc`."""
