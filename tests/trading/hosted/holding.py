"""Callers who trade with keys of their own on four workers: their limits, and those who come with the wrong key."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from random import Random

from support.holders import Holders
from support.state_server import StateServer, state_server
from trading.hosted.callers import SYMBOL, HostedCaller, connected
from trading.hosted.guests import CALLERS, STRANGER, KeyPair, key_pair, own_pair, watermark
from trading.hosted.hosting import Customers, House, customers, house

WORKERS = ("a", "b", "c", "d")
# Whose account the last two come for.
VICTIM = 5
BRINGS_WRONG_SECRET, BRINGS_SAME_KEY = CALLERS + 1, CALLERS + 2
# The first two have room left when all others have none.
ROOMY, ROOM = 2, 1_000
COMMON = """
[limits]
symbols = ["BTCUSDT"]
orders_per_minute = 1000
orders_per_day = 1000
open_orders = 1000
"""


def counts_orders(number: int) -> bool:
    """Tell whether a caller's limit is a number of orders; those of the others are amounts."""
    return number % 2 == 0


def most_of(number: int, scale: int) -> int:
    """Return how many orders a caller's limits leave."""
    return ROOM if number < ROOMY else scale * (2 + number // 2 % 2)


def rules(keys: list[KeyPair], floor: int, scale: int) -> str:
    """Return the operator's file: every key with a limit of its own, of orders or of money."""
    lines = [COMMON]
    for number, pair in enumerate(keys[:CALLERS]):
        most = most_of(number, scale)
        caller = HostedCaller(number, pair.name, {}, Random(0), most, floor)
        fits = (most + Decimal("0.5")) * floor * caller.quantity
        limit = f"orders_per_day = {most}" if counts_orders(number) else f'per_day = "{fits:.2f}"'
        lines += [f'[keys."{pair.name}"]', 'mode = "practice"', f'[keys."{pair.name}".limits]', limit]
        lines += [f'per_order = "{Decimal("1.5") * floor * caller.quantity:.2f}"']
    return "\n".join(lines)


@dataclass(frozen=True)
class HostedKeys:
    """Four workers, twenty callers, and three who come with another's key or with one that nobody has named."""

    exchange: Customers
    running: House
    state: StateServer
    callers: list[HostedCaller]
    unnamed: HostedCaller
    wrong_secret: HostedCaller
    same_key: HostedCaller

    @property
    def everybody(self) -> list[HostedCaller]:
        return [*self.callers, self.unnamed, self.wrong_secret, self.same_key]


@contextmanager
def hosted_keys(folder: Path, scale: int) -> Generator[HostedKeys]:
    """Start everything; nobody has called yet."""
    with state_server() as state, customers() as exchange:
        keys = [key_pair(number, exchange.told["rsa"]) for number in range(STRANGER + 1)]
        own, floor, victim = own_pair(), exchange.floor(SYMBOL), keys[VICTIM]
        keys += [KeyPair(victim.api_key, victim.secret[::-1]), victim]
        names = [f"caller-{number}" for number in range(len(keys))]
        settings = {
            "BINANCE_NETWORK": "testnet",
            "BINANCE_API_KEY": own.api_key,
            "BINANCE_SECRET_KEY": own.secret,
            "MCP_BINANCE_TRADING": "practice",
            "MCP_BINANCE_STATE_URL": state.url,
        }
        with house(folder, exchange, names, [*WORKERS], rules(keys, floor, scale), **settings) as running:
            everybody = [
                HostedCaller(
                    number,
                    pair.name,
                    {**running.holders.bearer(names[number]), **pair.headers},
                    Random(number),
                    most_of(number, scale),
                    floor,
                    secrets=(running.holders.tokens[names[number]], pair.api_key, pair.secret),
                    holds=watermark(VICTIM if number == BRINGS_SAME_KEY else number) * (number != BRINGS_WRONG_SECRET),
                )
                for number, pair in enumerate(keys)
            ]
            yield HostedKeys(exchange, running, state, everybody[:CALLERS], *everybody[CALLERS:])


@asynccontextmanager
async def all_connected(hosted: HostedKeys) -> AsyncGenerator[None]:
    async with connected(hosted.everybody, hosted.running.urls):
        yield


def visitor_of(caller: HostedCaller) -> str:
    """Return how journals name who a caller is, with the key that they bring."""
    name = Holders.visitor(f"caller-{caller.number}").name
    return sha256(f"{name} {caller.account}".encode()).hexdigest()[:16]
