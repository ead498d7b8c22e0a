"""One of several processes that use a journal at a time: each line is a part to play, the answer how it went."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from mcp_binance_server.trading.journal.ledger import STOP_FILE, HostLedger, LimitPassed, TradingIsStopped
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import Policy, read_policy
from support.terms import NOW_MS, intent


async def take_step(ledger: HostLedger, policy: Policy, what: str, number: int) -> str:
    """Claim, send or stop, and say how that ended."""
    new = intent(number)
    match what:
        case "claim":
            _, is_new = await ledger.claim(new, charges(new.terms, policy, "policy"), NOW_MS)
            return "claimed" if is_new else "found"
        case "send":
            # What a clock says before it asks; the answer to a stop must not depend on when a commit is done.
            await ledger.mark_sent(new.preview_id, time.time_ns() // 1_000_000)
            return "sent"
        case "stop":
            await ledger.stop("a test", ledger.owner, NOW_MS)
        case _:
            (ledger.store.folder / STOP_FILE).touch()
    return "done"


async def play(part: dict[str, Any]) -> list[str]:
    folder = Path(part["folder"])
    policy = read_policy(part["policy"].encode())
    ended: list[str] = []
    async with opened_store(folder) as store:
        with owner(folder) as name:
            for what, number in part["steps"]:
                try:
                    ended.append(await take_step(HostLedger(store, name), policy, what, number))
                except LimitPassed:
                    ended.append("limited")
                except TradingIsStopped:
                    ended.append("stopped")
    return ended


async def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(await play(json.loads(line))) + "\n")
        sys.stdout.flush()
