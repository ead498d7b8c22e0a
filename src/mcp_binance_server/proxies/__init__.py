"""Proxies of outgoing connections. All libraries use the same proxy for an address."""
