"""The networks that are not configured: asked only whether a key that was refused is one of theirs."""

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import anyio

from mcp_binance_server.channel import NoAnswer
from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.attempt import Attempts, ExchangeRefused
from mcp_binance_server.exchange.endpoints import TIME
from mcp_binance_server.exchange.key_probe import knows_key
from mcp_binance_server.exchange.networks import Network
from mcp_binance_server.exchange.principal import Principal

REMEMBERED_MS = 600_000
MOST_REMEMBERED = 256
# Callers may bring any key: however many wrong ones come, others are not flooded with them.
MOST_A_MINUTE = 10
MINUTE_MS = 60_000
REACH_SECS = 3.0


@dataclass
class OtherNetworks:
    """Finds the network that a key belongs to, and remembers it for a while; the key itself is not kept."""

    attempts: tuple[Attempts, ...]
    clock: Clock
    _homes: dict[bytes, tuple[float, str | None]] = field(
        default_factory=dict[bytes, tuple[float, str | None]], init=False, repr=False
    )
    _asked: deque[float] = field(default_factory=deque[float], init=False, repr=False)

    @classmethod
    def beside(cls, own: Attempts, networks: Mapping[str, Network], clock: Clock) -> "OtherNetworks":
        """Return the others of a network; none beside an address that is not Binance's: its keys go nowhere else."""
        home = networks.get(own.network.name)
        if home is None or home.rest_url != own.network.rest_url:
            return cls((), clock)
        others = (network for name, network in networks.items() if name != home.name)
        return cls(tuple(_apart(own, network) for network in others), clock)

    async def home_of(self, principal: Principal) -> str | None:
        """Name the network that knows a key; none if no other does, or none could be asked."""
        digest = hashlib.sha256(principal.credentials.api_key.encode()).digest()
        now_ms = self.clock.monotonic_ms()
        known = self._homes.get(digest)
        if known is not None and now_ms - known[0] < REMEMBERED_MS:
            return known[1]
        if not self.attempts or not self._may_ask(now_ms):
            return None
        home = await self._ask(principal)
        self._homes.pop(digest, None)
        self._homes[digest] = (now_ms, home)
        for oldest in _surplus(self._homes):
            del self._homes[oldest]
        return home

    async def _ask(self, principal: Principal) -> str | None:
        found: list[str] = []

        async def ask(attempts: Attempts) -> None:
            if await _answers(attempts) and await knows_key(attempts, principal):
                found.append(attempts.network.name)

        async with anyio.create_task_group() as group:
            for each in self.attempts:
                group.start_soon(ask, each)
        return found[0] if len(found) == 1 else None

    def _may_ask(self, now_ms: float) -> bool:
        while self._asked and now_ms - self._asked[0] >= MINUTE_MS:
            self._asked.popleft()
        if len(self._asked) >= MOST_A_MINUTE:
            return False
        self._asked.append(now_ms)
        return True


def _apart(own: Attempts, network: Network) -> Attempts:
    """Return what sends to another network: its weight is counted apart from ours."""
    budget = replace(own.budget, egress_id=f"{own.budget.egress_id}@{network.name}")
    return Attempts(network, own.channel, budget, own.time)


async def _answers(attempts: Attempts) -> bool:
    """Ask in public first: a key is sent only to a host that is there."""
    with anyio.move_on_after(REACH_SECS):
        try:
            await attempts.send(TIME, {})
        except (ExchangeRefused, NoAnswer, AppError):
            return False
        return True
    return False


def _surplus(homes: Mapping[bytes, object]) -> Iterable[bytes]:
    return list(homes)[: max(0, len(homes) - MOST_REMEMBERED)]
