"""What a symbol costs a process that is shown it, beside the one that streams it: four processes on one real state.

`scripts/test --scale 10 benchmarks/feeds/test_follower_share.py -s` is the same with a hundred symbols, for longer.
"""

import json
import urllib.request
from contextlib import ExitStack

import anyio

from mcp_binance_server.clock import SystemClock
from support.fleet_member import PLENTY, READS
from support.process import Process
from support.state_server import state_server

SYMBOLS, MOST_SYMBOLS = 20, 100
SECS, MOST_SECS = 10, 30
PATIENCE_SECS = 180
# 0.3 is wanted; twice that is no noise any more.
MOST_SHARE = 0.6


def spent(process: Process) -> float:
    process.send(b"\n")
    return float(process.line())


def test_a_finished_book_costs_a_fraction_of_the_leaders(scale: int) -> None:
    symbols, secs = min(MOST_SYMBOLS, SYMBOLS * scale), min(MOST_SECS, SECS * scale)
    with ExitStack() as stack:
        server = stack.enter_context(state_server())
        exchange = stack.enter_context(Process("simulator", f"--crowd={symbols}"))
        stack.callback(exchange.terminate)
        told = json.loads(exchange.line())
        limit = json.dumps({"weight_limit": PLENTY}).encode()
        urllib.request.urlopen(f"{told['rest']}/control/limit", limit).close()  # noqa: S310 - our own address
        addresses = server.url, told["rest"], told["streams"]

        def reading(needs: str) -> Process:
            return stack.enter_context(Process(*addresses, needs, str(symbols), code=READS, warm=True))

        # The first leads; of the others two need the best levels, and one replays what was heard.
        processes = [reading("events")]
        assert processes[0].line(PATIENCE_SECS) == b"live"
        processes += [reading(needs) for needs in ("book", "book", "events")]
        assert [each.line(PATIENCE_SECS) for each in processes[1:]] == [b"live"] * 3
        before = [spent(each) for each in processes]
        anyio.run(SystemClock().sleep_ms, 1000 * secs)
        leader, *shown, replaying = (spent(each) - then for each, then in zip(processes, before, strict=True))
    a_symbol = 1e6 / secs / symbols
    print(  # noqa: T201 - a figure
        f"us a symbol and second: leader {leader * a_symbol:.0f}, shown {[round(each * a_symbol) for each in shown]}, "
        f"replaying {replaying * a_symbol:.0f}; shares {[round(each / leader, 2) for each in shown]}, "
        f"{replaying / leader:.2f}"
    )
    assert max(shown) / leader <= MOST_SHARE
