"""Mutation tests of the modules that decide about money and truth; a program of `scripts/mutants`."""
