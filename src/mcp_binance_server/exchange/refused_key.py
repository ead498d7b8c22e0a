"""A key that Binance refuses: the error for it, after one question that tells an unknown key from a forbidden one."""

import anyio

from mcp_binance_server.channel import NoAnswer
from mcp_binance_server.errors import NOT_SET, AppError, InvalidCredentials
from mcp_binance_server.exchange.attempt import Attempts, Params, Refused
from mcp_binance_server.exchange.diagnosis import diagnose, is_worth_a_probe
from mcp_binance_server.exchange.endpoints import ORDER
from mcp_binance_server.exchange.faults import BAD_SIGNATURE, Refusal
from mcp_binance_server.exchange.networks import Network
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


async def explain_refusal(attempts: Attempts, refusal: Refusal, principal: Principal | None) -> InvalidCredentials:
    """Return the error for a refused key, with its most likely cause where one can be found."""
    network = attempts.network
    if principal is None or not is_worth_a_probe(refusal, principal.credentials, network):
        return credentials_error(network, refusal, principal)
    return credentials_error(network, refusal, principal, is_known=await knows_key(attempts, principal))


def credentials_error(
    network: Network, refusal: Refusal | None, principal: Principal | None, *, is_known: bool | None = None
) -> InvalidCredentials:
    """Build the error; a refusal of None means that the key could not even be sent."""
    error = InvalidCredentials(
        masked_api_key=principal.credentials.masked if principal else NOT_SET,
        help_url=network.help_url,
        network=network.name,
        reason=refusal.text if refusal else "the key holds characters that cannot be sent",
        exchange_code=refusal.code if refusal else None,
    )
    if principal and (why := diagnose(refusal, principal.credentials, network, is_known=is_known)):
        error.likely_cause, error.explanation = why.cause, why.explanation
    return error


async def knows_key(attempts: Attempts, principal: Principal) -> bool | None:
    """Ask once with a wrong signature: a host complains of it only if it knows the key; none if it did not say."""
    wrong = Principal(principal.credentials, _WrongSigner(principal.signer))
    with anyio.move_on_after(PROBE_SECS):
        try:
            await attempts.send(ORDER, PROBE_PARAMS, wrong)
        except Refused as refused:
            if refused.refusal.is_rate_limit:
                await attempts.budget.halt(refused.refusal)
            elif refused.refusal.is_credentials:
                return refused.refusal.code == BAD_SIGNATURE
        except (NoAnswer, AppError):
            pass  # the refusal that is to be explained matters more than why it cannot be
    return None
