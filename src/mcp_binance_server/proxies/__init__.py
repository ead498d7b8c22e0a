"""Proxies of outgoing connections: one decision for every library that connects."""
