"""Exchange libraries of others against the simulator: their calls succeed, or are refused with Binance's own code."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from support.built import installed_sdks
from support.process import Process

# Not simulated, or refused as Binance does.
REFUSED = {
    ("binance_sdk_spot", "delete_order of an unknown order"): -2011,
    ("binance_sdk_spot", "sor_order_test"): -5000,
    ("python_binance", "stream_get_listen_key"): -5000,
    ("ccxt", "create_limit_buy_order without funds"): (
        "InsufficientFunds: binance Account has insufficient balance for requested action."
    ),
    ("ccxt", "fetch_trading_fee"): -5000,
    ("ccxt", "publicPostUserDataStream"): -5000,
}
CALLS = {"binance_sdk_spot": 64, "binance_sdk_futures": 21, "python_binance": 11, "binance_connector": 7, "ccxt": 17}


@pytest.mark.night
def test_libraries_of_others_are_served_or_refused_with_a_code_of_binance() -> None:
    python = installed_sdks()
    with Process("simulator") as process:
        command = [str(python), str(Path(__file__).with_name("sdks.py")), process.line()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        process.terminate()

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {(library, call): code for library, call, code in rows if code} == REFUSED
    assert Counter(library for library, _, _ in rows) == CALLS
