"""The first answer of a server that has just been started, on a line where a round trip takes 200 ms."""

import json
from time import perf_counter

import pytest

from support.process import Process
from support.requirement import requirement
from support.slow_line import slow_line

WAY_SECS = 0.1
QUESTION = {"name": "trading_analysis", "arguments": {"symbol": "BTCUSDT"}}


# A second without a key, one and a half with one, in round trips. Measured: 4 with and 3 without one, two of them while
# the server is still loading. A busy machine puts reads that were meant to go side by side one after the other, never
# the reverse: of three starts the one with the fewest tells. That they do not wait: surface/test_first_questions.py.
TRIES = 3


@requirement("SC-001")
@pytest.mark.parametrize(("has_key", "most_rounds"), [(False, 4), (True, 5)])
def test_a_first_analysis_waits_for_few_round_trips(*, has_key: bool, most_rounds: int) -> None:
    fewest = first_analysis(has_key=has_key)
    for _ in range(TRIES - 1):
        if fewest > most_rounds:
            fewest = min(fewest, first_analysis(has_key=has_key))

    assert 2 <= fewest <= most_rounds


def first_analysis(*, has_key: bool) -> int:
    """Start a server, ask it, look at the page, and return how many round trips waited for each other."""
    with Process("simulator") as simulator:
        exchange = json.loads(simulator.line())
        keys = {"BINANCE_API_KEY": exchange["api_key"], "BINANCE_SECRET_KEY": exchange["secret_key"]}
        with slow_line(int(exchange["rest"].rpartition(":")[2]), WAY_SECS) as line:
            environment = {"BINANCE_REST_URL": line.url, **(keys if has_key else {})}
            with Process("--stdio", environment=environment) as process:
                process.shake_hands()
                asked_at = perf_counter()
                answer = process.ask(1, "prompts/get", QUESTION)
                wall_secs = perf_counter() - asked_at
                rounds = line.rounds()
        simulator.terminate()

    page = answer["result"]["messages"][0]["content"]["text"]
    assert page.startswith("# Market Analysis: BTCUSDT")
    assert "your account:" not in page
    print(f"first analysis, {'a' if has_key else 'no'} key: {wall_secs:.2f} s, {rounds} round trips")  # noqa: T201 - shown by -rP
    return rounds
