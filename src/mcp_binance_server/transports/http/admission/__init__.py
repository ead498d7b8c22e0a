"""Admission of requests: hosts, bodies, keys, and refusals."""
