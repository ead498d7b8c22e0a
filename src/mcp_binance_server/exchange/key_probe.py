"""One question that tells whether a host knows a key: it is asked with a wrong signature, so nothing can happen."""

import anyio

from mcp_binance_server.channel import NoAnswer
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.attempt import Attempts, ExchangeRefused, Params
from mcp_binance_server.exchange.endpoints import ORDER
from mcp_binance_server.exchange.faults import BAD_SIGNATURE
from mcp_binance_server.exchange.principal import Principal
from mcp_binance_server.exchange.signing import Signer

# The cheapest signed call that every network can parse; it is never meant to succeed.
PROBE_PARAMS: Params = {"symbol": "BTCUSDT", "orderId": 1}
PROBE_SECS = 3.0


class _WrongSigner:
    """Signs in the right form and with the right key, but something else than what is sent."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer

    def sign(self, payload: bytes) -> str:
        return self._signer.sign(payload + b"!")


async def knows_key(attempts: Attempts, principal: Principal) -> bool | None:
    """Ask once with a wrong signature: a host complains of it only if it knows the key; none if it did not say."""
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
            pass  # the refusal that is to be explained matters more than why it cannot be
    return None
