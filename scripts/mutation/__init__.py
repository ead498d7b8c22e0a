"""Mutation tests of modules that decide about money and correctness. `scripts/mutants` runs them."""
