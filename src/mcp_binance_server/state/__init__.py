"""Shared state of processes: values, leases, channels, single flights, the weight budget and the places."""
