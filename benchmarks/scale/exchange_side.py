"""What Binance lets one address do, and how many addresses a population of keys needs: by asking, and by listening.

The limits are Binance's: https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits and
https://developers.binance.com/docs/binance-spot-api-docs/websocket-api/user-data-stream-requests
"""

from dataclasses import dataclass

# An address may spend so much a minute, of which the server spends nine tenths; see docs/design/fleet.md.
LIMIT, SPENT_PERCENT = 6_000, 90
CEILING = LIMIT * SPENT_PERCENT // 100
ACCOUNT, OPEN_ORDERS_ALL, CONNECT, SUBSCRIBE = 20, 80, 2, 2
DIALS_A_MINUTE = 300 / 5
SUBSCRIPTIONS_A_CONNECTION = 1_000
STREAM_LIFE_HOURS = 23


@dataclass(frozen=True, slots=True)
class Way:
    """One way to know accounts: what a key costs once, when its session begins, and then each minute."""

    name: str
    first_weight: float
    weight_a_minute: float
    dials: float
    """Connections that each key opens."""

    def weight(self, keys: float, life_minutes: float) -> float:
        """Return the weight a minute of so many keys, whose sessions live so long on average."""
        return keys * (self.first_weight / life_minutes + self.weight_a_minute)

    def addresses(self, keys: float, life_minutes: float) -> float:
        """Return how many outgoing addresses that needs, by weight or by connections, whichever is more."""
        dialled = keys * self.dials * (1 / life_minutes + 1 / (STREAM_LIFE_HOURS * 60))
        return max(self.weight(keys, life_minutes) / CEILING, dialled / DIALS_A_MINUTE)

    def minutes_to_begin(self, keys: float, addresses: float) -> float:
        """Return how long it takes until all keys are known after a start, all of them waiting."""
        first = max(self.first_weight, ACCOUNT)
        return keys / addresses * max(first / CEILING, self.dials / DIALS_A_MINUTE)

    def most_keys(self, life_minutes: float) -> float:
        """Return how many keys one address carries."""
        return 1 / self.addresses(1, life_minutes)


def ways(reads_a_minute: float) -> tuple[Way, ...]:
    """Return the ways to compare, for sessions that look at their account so often."""
    renewed = 1 / (STREAM_LIFE_HOURS * 60)
    own, shared = CONNECT + SUBSCRIBE, SUBSCRIBE + CONNECT / SUBSCRIPTIONS_A_CONNECTION
    return (
        Way("asked for each time", 0, ACCOUNT * reads_a_minute, 0),
        Way("a connection a key", own + ACCOUNT, (own + ACCOUNT) * renewed, 1),
        Way("a thousand keys a connection", shared + ACCOUNT, (shared + ACCOUNT) * renewed, 0.001),
        Way(
            "a connection a key, open orders too",
            own + ACCOUNT + OPEN_ORDERS_ALL,
            (own + ACCOUNT + OPEN_ORDERS_ALL) * renewed,
            1,
        ),
    )
