"""State that processes share: values, leases, channels, one production per key, the weight budget, limited places."""
