"""Send python-binance to the loopback exchange; found through PYTHONPATH when the peer's interpreter starts."""

import os
from importlib import import_module
from urllib.parse import urlsplit

client = import_module("binance.base_client").BaseClient

for name in dir(client):
    url = getattr(client, name)
    if name.endswith("_URL") and isinstance(url, str) and url.startswith("https://"):
        # Production and testnet stay apart on the wire, so that a log shows which one the peer really used.
        place = "TESTNET" if "TESTNET" in name else "PRODUCTION"
        setattr(client, name, f"{os.environ['EXCHANGE_URL']}/{place}{urlsplit(url).path}")
