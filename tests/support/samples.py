"""What the resources contract shows: its error data, and its sample pages read from the document itself."""

import json
import re
from typing import Any

from support.contracts import read_contract
from support.golden import golden_text

SAMPLE_MOMENT_MS = 1_760_711_025_123
ADDED = ("## Trend and Volatility", "## Concentration")  # where the sample ends on a page and ours begins

INVALID_SYMBOL_DATA = {
    "provided_symbol": "INVALIDSYMBOL",
    "valid_examples": ["BTCUSDT", "ETHUSDT", "BNBUSDT"],
    "recovery_suggestion": "Use uppercase symbols without separators (e.g., BTCUSDT, not BTC-USDT)",
    "error_type": "invalid_symbol",
    "retryable": False,
    "guide": "guide://document/errors/symbols-and-orders.md",
    "uri": "binance://market/invalidsymbol",
}
NOT_FOUND_DATA = {
    "provided_uri": "binance://invalid/resource",
    "valid_categories": ["market", "account", "orders"],
    "valid_examples": [
        "binance://market/btcusdt",
        "binance://account/balances",
        "binance://orders/open",
    ],
    "guide_examples": ["guide://help", "guide://collection/start"],
    "recovery_suggestion": "Check URI format: binance://{category}/{identifier}",
    "error_type": "resource_not_found",
    "retryable": False,
    "guide": "guide://document/start/first-steps.md",
    "uri": "binance://invalid/resource",
}


def contract_pages() -> dict[str, str]:
    """Return the sample pages of the resources contract by their address."""
    found: dict[str, str] = {}
    for block in re.findall(r"```json\n(.*?)```", read_contract("resources"), re.DOTALL):
        answer: dict[str, Any] = json.loads(block)
        for content in answer.get("result", {}).get("contents", []):
            found.setdefault(content["uri"], content["text"])
    return found


def golden_lines(prompt: str) -> list[str]:
    """Return the lines of our golden page that are the contract's."""
    page = golden_text(f"views/{prompt}.contract.md").rstrip("\n").split("\n")
    return [*page[: page.index(next(line for line in page if line.startswith(ADDED)))], page[-1]]


def prompt_samples() -> dict[str, str]:
    """Return the sample pages of the prompts contract: the first one of each prompt, and the empty account."""
    found: dict[str, str] = {}
    for block in re.findall(r"```json\n(.*?)```", read_contract("prompts"), re.DOTALL):
        answer: dict[str, Any] = json.loads(block)
        for message in answer.get("result", {}).get("messages", []):
            text: str = message["content"]["text"]
            is_trading = text.startswith("# Market Analysis")
            name = "trading_analysis" if is_trading else "empty" if "No active balances" in text else "portfolio_risk"
            found.setdefault(name, text)
    return found
