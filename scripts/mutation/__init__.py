"""Mutation tests of the modules that decide about money and correctness; run by `scripts/mutants`."""
