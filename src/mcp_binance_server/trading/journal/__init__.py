"""Journal of orders: intents, requests and results, recorded before anything is sent, for all processes of a host."""
