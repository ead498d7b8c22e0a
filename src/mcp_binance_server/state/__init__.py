"""State that processes share: values, leases, channels, single flights, the weight budget, and limited places."""
