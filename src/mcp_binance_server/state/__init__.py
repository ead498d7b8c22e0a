"""What processes share: values, leases, channels, single flights, the weight budget and the places."""
