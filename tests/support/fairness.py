"""One hostile caller beside modest ones, in each of the ten things a server can run out of.

python -m support.fairness [--modest 50] [--seconds 10] [--workers 4] [currency ...]    (from tests/; scripts/fairness)

Prints a line for each: how long the modest waited without the hostile one and beside it, and what they were refused.
The bar: their p99 is at most one and a half times what it was, or 25 ms more, and nobody is refused.
"""

import argparse
import json
import os
import resource
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep  # noqa: TID251 - what is measured happens in real time
from typing import TYPE_CHECKING, Any

from mcp_binance_server.transports.http.auth.token_file import TokenEntry, digest_of, new_token
from support.process import Process
from support.state_server import state_server
from support.workers import port_of

if TYPE_CHECKING:
    from mcp_binance_server.domain.access import Scope

SESSION_CAP = 200
CROWD = ("--crowd=60", "--contracts=60")
MOST_DESCRIPTORS = 8_192
TESTS = Path(__file__).parents[1]
# So many a minute that only the hostile one wants more.
POLICY = "[limits]\norders_per_minute = 60\norders_per_day = 5000\nopen_orders = 100\n"


@dataclass(frozen=True, slots=True)
class Currency:
    """What the hostile one takes: by how many at once, and how often each modest one needs it."""

    name: str
    at_once: int
    period: float
    most_modest: int = 1_000


CURRENCIES = (
    Currency("weight", 8, 1.5),  # candles for two: 80 of a share of 105 a minute
    Currency("sessions", 250, 1.0),
    Currency("streams", 250, 1.0),
    Currency("subscriptions", 4, 2.0),
    Currency("connections", 900, 1.0),
    Currency("drawings", 40, 4.0, most_modest=4),  # pictures of one's own are rare, and each takes a core a while
    Currency("loop", 32, 0.5),
    Currency("boards", 32, 1.0),
    Currency("orders", 32, 4.0, most_modest=8),  # on paper, each an account of its own; a desk commits each on a disk
    Currency("screens", 32, 2.0),  # of candles that nobody has read yet: there is a minute's weight for few of them
)


@dataclass(frozen=True, slots=True)
class Waits:
    """How long the deeds of a while took, in milliseconds, and what was complained of."""

    p50: float
    p99: float
    done: int
    complaints: dict[str, int]

    @classmethod
    def of(cls, told: dict[str, Any]) -> "Waits":
        secs = told["secs"] or [float("inf")]
        p50, p99 = (secs[min(len(secs) - 1, int(len(secs) * part))] * 1000 for part in (0.5, 0.99))
        return cls(round(p50, 1), round(p99, 1), told["done"], told["complaints"])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one currency came to."""

    currency: str
    workers: int
    quiet: Waits
    beside: Waits
    hostile: dict[str, int]

    @property
    def is_fair(self) -> bool:
        bar = max(1.5 * self.quiet.p99, self.quiet.p99 + 25)
        return not self.quiet.complaints and not self.beside.complaints and self.beside.p99 <= bar

    def __str__(self) -> str:
        refused = self.beside.complaints or "nobody"
        return (
            f"{self.currency:13} {self.workers} | alone p50 {self.quiet.p50:7.1f} p99 {self.quiet.p99:7.1f} ms"
            f" | beside p50 {self.beside.p50:7.1f} p99 {self.beside.p99:7.1f} ms ({self.beside.done} done)"
            f" | refused: {refused} | the hostile one: {self.hostile} | {'fair' if self.is_fair else 'NOT FAIR'}"
            + (f" (alone: {self.quiet.complaints})" if self.quiet.complaints else "")
        )


def measure(currency: Currency, *, modest: int, seconds: float, workers: int = 1) -> Outcome:
    """Run a server and both kinds of callers, each in processes of their own."""
    modest = min(modest, currency.most_modest)
    tokens = [new_token() for _ in range(modest + 1)]
    with _served(tokens, workers, trades=currency.name == "orders") as port, _caller("modest") as many:
        many.say({"port": port, "tokens": tokens[1:], "currency": currency.name, "period": currency.period})
        sleep(currency.period + 2.0)  # everybody is there, and what is loaded late is loaded
        _noted(many)
        sleep(seconds)
        quiet = _noted(many)
        with _caller("hostile") as one:
            one.say({"port": port, "token": tokens[0], "currency": currency.name, "at_once": currency.at_once})
            one.line()
            sleep(2.0)  # it takes what there is; within a second it has to give back what is others'
            _noted(many)
            sleep(seconds)
            beside = _noted(many)
            one.close_input()
            hostile = json.loads(one.line())
        many.close_input()
    return Outcome(currency.name, workers, Waits.of(quiet), Waits.of(beside), hostile)


@contextmanager
def _served(tokens: list[str], workers: int, *, trades: bool) -> Generator[int]:
    with TemporaryDirectory() as folder, state_server() as state, Process("simulator", *CROWD) as simulator:
        exchange = json.loads(simulator.line())
        file = Path(folder) / "tokens"
        scopes: frozenset[Scope] = frozenset({"market:read", *(("account:read", "trade") if trades else ())})
        policy = Path(folder) / "trading.toml"
        policy.write_text(POLICY)
        policy.chmod(0o600)
        file.write_text(
            "".join(
                f"{TokenEntry(f'n{number}', digest_of(token), scopes).line}\n" for number, token in enumerate(tokens)
            )
        )
        file.chmod(0o600)
        environment = {
            "BINANCE_REST_URL": exchange["rest"],
            "BINANCE_STREAM_URL": exchange["streams"],
            "BINANCE_FUTURES_REST_URL": exchange["futures_rest"],
            "MCP_BINANCE_SCAN_PERCENT": "5",
            # How long a simulated exchange needs on these cores for a board, beside candles, is not what is measured.
            "MCP_BINANCE_BOARD_FRESH_SECS": "120",
            "MCP_BINANCE_TOKEN_FILE": str(file),
            "MCP_BINANCE_SESSION_CAP": str(SESSION_CAP),
            "MCP_BINANCE_LOG_LEVEL": "ERROR",
            **({"MCP_BINANCE_STATE_URL": state.url} if workers > 1 else {}),
            **(_trading(folder, policy) if trades else {}),
        }
        several = ("--workers", str(workers)) if workers > 1 else ()
        with Process("--http", "--port", "0", *several, environment=environment) as server:
            try:
                yield port_of(server)
            finally:
                server.terminate()
                simulator.terminate()


def _trading(folder: str, policy: Path) -> dict[str, str]:
    return {
        "MCP_BINANCE_TRADING": "paper",
        "MCP_BINANCE_TRADING_DIR": str(Path(folder) / "trading"),
        "MCP_BINANCE_TRADING_POLICY": str(policy),
    }


def _caller(role: str) -> Process:
    # The interpreter has to find the tests' own modules, wherever it was started.
    started = f"runpy.run_module('support.{role}', run_name='__main__')"
    return Process(code=f"import runpy, sys; sys.path.insert(0, {str(TESTS)!r}); {started}")


def _noted(many: Process) -> dict[str, Any]:
    many.send(b"\n")
    return json.loads(many.line())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("currencies", nargs="*", default=[each.name for each in CURRENCIES])
    parser.add_argument("--modest", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    allow_descriptors()
    are_fair = True
    for currency in CURRENCIES:
        if currency.name in given.currencies:
            outcome = measure(currency, modest=given.modest, seconds=given.seconds, workers=given.workers)
            are_fair = are_fair and outcome.is_fair
            sys.stdout.write(f"{outcome}\n")
            sys.stdout.flush()
    return 0 if are_fair else 1


def allow_descriptors() -> None:
    """Let the processes started from here have as many connections as the hostile one wants."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(MOST_DESCRIPTORS, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


if __name__ == "__main__":
    os.environ.pop("COVERAGE_PROCESS_START", None)  # noqa: TID251 - a measurement counts no lines
    sys.exit(main())
