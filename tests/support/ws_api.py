"""Requests to the WebSocket API, written and signed by the book and not by the client under test."""

import hashlib
import hmac
import json

from binance_simulator.account import DemoAccount


def subscription(account: DemoAccount, now_ms: int) -> str:
    """Return the request that subscribes to an account."""
    params = {"apiKey": account.api_key, "timestamp": now_ms}
    payload = "&".join(f"{name}={params[name]}" for name in sorted(params)).encode()
    signature = hmac.new(account.secret_key.encode(), payload, hashlib.sha256).hexdigest()
    method = "userDataStream.subscribe.signature"
    return json.dumps({"id": "subscribe", "method": method, "params": params | {"signature": signature}})
