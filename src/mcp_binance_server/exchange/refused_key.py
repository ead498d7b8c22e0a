"""A key that Binance refuses: the error for it, after questions that tell why, here and at the other networks."""

from mcp_binance_server.errors import NOT_SET, InvalidCredentials
from mcp_binance_server.exchange.attempt import Attempts
from mcp_binance_server.exchange.diagnosis import Probed, diagnose, is_worth_a_probe
from mcp_binance_server.exchange.faults import ExchangeRefusal
from mcp_binance_server.exchange.key_probe import knows_key
from mcp_binance_server.exchange.networks import Network
from mcp_binance_server.exchange.other_networks import OtherNetworks
from mcp_binance_server.exchange.principal import Principal


async def explain_refusal(
    attempts: Attempts, refusal: ExchangeRefusal, principal: Principal | None, others: OtherNetworks | None = None
) -> InvalidCredentials:
    """Return the error for a refused key, with its most likely cause where one can be found."""
    network = attempts.network
    if principal is None or not is_worth_a_probe(refusal, principal.credentials, network):
        return credentials_error(network, refusal, principal)
    is_known = await knows_key(attempts, principal)
    home = await others.home_of(principal) if others is not None and not is_known else None
    return credentials_error(network, refusal, principal, Probed(is_known, home))


def credentials_error(
    network: Network, refusal: ExchangeRefusal | None, principal: Principal | None, probed: Probed | None = None
) -> InvalidCredentials:
    """Build the error; a refusal of None means that the key could not even be sent."""
    error = InvalidCredentials(
        masked_api_key=principal.credentials.masked if principal else NOT_SET,
        help_url=network.help_url,
        network=network.name,
        reason=refusal.text if refusal else "the key holds characters that cannot be sent",
        exchange_code=refusal.code if refusal else None,
    )
    if principal and (why := diagnose(refusal, principal.credentials, network, probed or Probed())):
        error.likely_cause, error.explanation, error.setting = why.cause, why.explanation, why.setting
    return error
