"""Our server beside comparable ones, on one loopback exchange."""
