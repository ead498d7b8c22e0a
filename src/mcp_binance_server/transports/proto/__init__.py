"""The provider.v1 contract, its messages, which `scripts/protos` generates, and a stub for clients."""
