"""The customers of an exchange who come to a hosted server: keys of their own, and a balance that nobody else has."""

from dataclasses import dataclass, field

from binance_simulator.account import DemoAccount, KeyRights
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Portfolio
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import key_id
from support.chaos.exchange import serve

CALLERS = 20
# One more has a key that the operator's file does not name.
STRANGER = CALLERS
SIGNS_ED25519, SIGNS_RSA = 3, 4
FIRST_SEED = 4_000
# What is searched for in all that the tests write follows from this seed: scripts/canary.py.
OWN_SEED = 7
NO_LIMIT = 10**6
PROGRAM = "from trading.hosted.guests import main; main()"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """What a caller sends with each request, or with the one that opens a session."""

    api_key: str = field(repr=False)
    secret: str = field(repr=False)

    @property
    def name(self) -> str:
        return key_id(self.api_key)

    @property
    def headers(self) -> dict[str, str]:
        # A PEM has lines and a header has not.
        return {"X-Binance-Api-Key": self.api_key, "X-Binance-Secret-Key": self.secret.strip().replace("\n", "\\n")}


def watermark(number: int) -> str:
    """Return what a guest holds, which nobody else does."""
    return f"6{number:02}53{number:02}.{number:02}589793"


def own_pair() -> KeyPair:
    """Return how the server itself signs."""
    account = DemoAccount(OWN_SEED)
    return KeyPair(account.api_key, account.secret_key)


def key_pair(number: int, rsa: str) -> KeyPair:
    """Return how a guest signs: most by HMAC, one by Ed25519, one by the RSA key that the exchange has told."""
    account = DemoAccount(FIRST_SEED + number)
    if number == SIGNS_ED25519:
        return KeyPair(account.ed25519_api_key, account.ed25519_private_key_pem)
    if number == SIGNS_RSA:
        return KeyPair(account.rsa_api_key, rsa)
    return KeyPair(account.api_key, account.secret_key)


def main() -> None:
    """Serve an exchange whose account 0 is the server's own, and whose others are those of the callers."""
    exchange = SimulatedExchange(SystemClock(), seed=OWN_SEED)
    exchange.rights = KeyRights(trading=True)
    # Twenty starts on each of four workers are more than an address may ask for in a minute.
    exchange.weight_limit = NO_LIMIT
    accounts = [DemoAccount(FIRST_SEED + number) for number in range(CALLERS + 1)]
    exchange.guests += [
        Guest(account, Portfolio((Balance("USDT", watermark(number), "0.00000000"),)))
        for number, account in enumerate(accounts)
    ]
    # Only the RSA key is made anew each time; the others follow from their seeds and are not said.
    serve(exchange, rsa=accounts[SIGNS_RSA].rsa_private_key_pem)
