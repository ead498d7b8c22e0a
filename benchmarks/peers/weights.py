"""What a request of a peer weighs: by the table of our simulated exchange, which counts ours as well."""

from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from binance_simulator.rest.gateway import ENDPOINTS
from binance_simulator.rest.signing import Params

ROOT = "/api/v3/"
# Calls of other roots are counted apart by Binance; the least they can weigh.
ELSEWHERE = 1
# Not among what our simulator offers: https://developers.binance.com/docs/binance-spot-api-docs/rest-api
OTHERS = {"ping": 1, "rateLimit/order": 40, "account/commission": 20}


def weight_of(request: str) -> int:
    """Return the weight of "GET /api/v3/depth?symbol=BTCUSDT", whatever stands before the root.

    Raises:
        LookupError: nobody has said what it weighs.
    """
    _, _, target = request.partition(" ")
    parts = urlsplit(target)
    _, root, name = unquote(parts.path).partition(ROOT)
    if not root:
        return ELSEWHERE
    endpoint = ENDPOINTS.get(ROOT + name)
    if endpoint is None:
        return OTHERS[name]
    return endpoint.weight(Params(parts.query.encode()))


def weight_of_all(requests: Iterable[str]) -> int:
    return sum(map(weight_of, requests))
