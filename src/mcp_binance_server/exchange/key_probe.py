"""Probe that finds the Binance network of a refused API key."""

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import anyio

from mcp_binance_server.channel import NoAnswer
from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import NOT_SET, AppError, InvalidCredentials
from mcp_binance_server.exchange.attempt import Attempts, ExchangeRefused, Params
from mcp_binance_server.exchange.diagnosis import Probed, diagnose, is_worth_a_probe
from mcp_binance_server.exchange.endpoints import ORDER, TIME, Network
from mcp_binance_server.exchange.signing import Principal, Signer
from mcp_binance_server.exchange.wire import BAD_SIGNATURE, ExchangeRefusal

# The cheapest signed call that every network can parse; the order does not exist.
PROBE_PARAMS: Params = {"symbol": "BTCUSDT", "orderId": 1}
PROBE_SECS = 3.0

REMEMBERED_MS = 600_000
MOST_REMEMBERED = 256
# Callers can send any key, so the probes are limited. Otherwise invalid keys could flood the other networks.
MOST_A_MINUTE = 10
MINUTE_MS = 60_000
REACH_SECS = 3.0


class _WrongSigner:
    """Signer whose signature is well formed but does not match the request."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer

    def sign(self, payload: bytes) -> str:
        return self._signer.sign(payload + b"!")


async def knows_key(attempts: Attempts, principal: Principal) -> bool | None:
    """Return whether a host knows a key, or None if that is unclear.

    Only a host that knows the key answers a wrong signature with the code for signatures.
    """
    wrong = Principal(principal.credentials, _WrongSigner(principal.signer))
    with anyio.move_on_after(PROBE_SECS):
        try:
            await attempts.send(ORDER, PROBE_PARAMS, wrong)
        except ExchangeRefused as refused:
            if refused.refusal.is_rate_limit:
                await attempts.budget.halt(refused.refusal)
            elif refused.refusal.is_credentials:
                return refused.refusal.code == BAD_SIGNATURE
        except (NoAnswer, AppError):
            pass  # a failed probe must not replace the refusal that it should explain
    return None


@dataclass
class OtherNetworks:
    """Search for the network that a key belongs to; results are cached under a hash of the key for ten minutes."""

    attempts: tuple[Attempts, ...]
    clock: Clock
    _homes: dict[bytes, tuple[float, str | None]] = field(
        default_factory=dict[bytes, tuple[float, str | None]], init=False, repr=False
    )
    _asked: deque[float] = field(default_factory=deque[float], init=False, repr=False)

    @classmethod
    def beside(cls, own: Attempts, networks: Mapping[str, Network], clock: Clock) -> "OtherNetworks":
        """Return a search over the other networks.

        It covers no network if the configured address is not Binance's: keys for another host are not sent to Binance.
        """
        home = networks.get(own.network.name)
        if home is None or home.rest_url != own.network.rest_url:
            return cls((), clock)
        others = (network for name, network in networks.items() if name != home.name)
        return cls(tuple(_apart(own, network) for network in others), clock)

    async def home_of(self, principal: Principal) -> str | None:
        """Return the other network that knows a key.

        None if no network or several know it, or if the limit of probes is reached.
        """
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
    """Return a client of another network with its own weight count."""
    budget = replace(own.budget, egress_id=f"{own.budget.egress_id}@{network.name}")
    return Attempts(network, own.channel, budget, own.time)


async def _answers(attempts: Attempts) -> bool:
    """Return whether a host answers a public call; the key is sent only after that."""
    with anyio.move_on_after(REACH_SECS):
        try:
            await attempts.send(TIME, {})
        except (ExchangeRefused, NoAnswer, AppError):
            return False
        return True
    return False


def _surplus(homes: Mapping[bytes, object]) -> Iterable[bytes]:
    return list(homes)[: max(0, len(homes) - MOST_REMEMBERED)]


async def explain_refusal(
    attempts: Attempts, refusal: ExchangeRefusal, principal: Principal | None, others: OtherNetworks | None = None
) -> InvalidCredentials:
    """Return the error for a refused key, with its most likely cause if one can be found."""
    network = attempts.network
    if principal is None or not is_worth_a_probe(refusal, principal.credentials, network):
        return credentials_error(network, refusal, principal)
    is_known = await knows_key(attempts, principal)
    home = await others.home_of(principal) if others is not None and not is_known else None
    return credentials_error(network, refusal, principal, Probed(is_known, home))


def credentials_error(
    network: Network, refusal: ExchangeRefusal | None, principal: Principal | None, probed: Probed | None = None
) -> InvalidCredentials:
    """Build the error; `refusal` is None if the key could not be sent."""
    error = InvalidCredentials(
        masked_api_key=principal.credentials.masked if principal else NOT_SET,
        help_url=network.help_url,
        network=network.name,
        reason=refusal.text if refusal else "the key contains characters that cannot be sent",
        exchange_code=refusal.code if refusal else None,
    )
    if principal and (why := diagnose(refusal, principal.credentials, network, probed or Probed())):
        error.likely_cause, error.explanation, error.setting = why.cause, why.explanation, why.setting
    return error
