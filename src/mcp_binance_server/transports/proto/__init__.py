"""The provider.v1 contract, and what `scripts/protos` makes of it; the generated files are never edited."""
