"""Who calls, by the metadata of the call; none of it is kept or logged."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from mcp_binance_server.domain.access import LOCAL, Visitor
from mcp_binance_server.domain.credentials import Credentials
from mcp_binance_server.errors import InvalidArguments, SettingsError
from mcp_binance_server.exchange.principal import Principal
from mcp_binance_server.surface.caller import Caller

API_KEY = "x-binance-api-key"
SECRET_KEY = "x-binance-secret-key"  # noqa: S105 - the name of a header, not a secret
# The lines of a PEM cannot stand in text metadata.
SECRET_PEM = "x-binance-secret-key-bin"  # noqa: S105 - likewise
CREDENTIALS = (API_KEY, SECRET_KEY, SECRET_PEM)

Metadata = Iterable[tuple[str, str | bytes]]
Authenticate = Callable[[Mapping[str, str]], Awaitable[Visitor]]
"""Finds out who a visitor is by the metadata that is text; raises TokenRefused, or lets them in."""


@dataclass(frozen=True, slots=True)
class Callers:
    """Without an authenticator everybody is the local user; without a key of their own they use the server's."""

    own: Principal | None = field(repr=False)
    authenticate: Authenticate | None = None

    async def of(self, metadata: Metadata) -> Caller | None:
        """Return who calls; None for the process's own user with the process's own key.

        Raises:
            TokenRefused: the authenticator did not let them in.
            InvalidArguments: half a key, one sent twice, or a secret that is none.
        """
        told = _single(metadata)
        visitor = LOCAL
        if self.authenticate is not None:
            words = {name: value for name, value in told.items() if isinstance(value, str) and name not in CREDENTIALS}
            visitor = await self.authenticate(words)
        principal = _principal(told)
        if self.authenticate is None and principal is None:
            return None
        return Caller(visitor, principal or self.own)


def _single(metadata: Metadata) -> dict[str, str | bytes]:
    told: dict[str, str | bytes] = {}
    for name, value in metadata:
        if name in told and name in ("authorization", *CREDENTIALS):
            raise InvalidArguments(summary=f"The metadata {name} was sent twice")
        told[name] = value
    return told


def _principal(told: Mapping[str, str | bytes]) -> Principal | None:
    given = [name for name in CREDENTIALS if told.get(name)]
    if not given:
        return None
    if API_KEY not in given or len(given) != 2:
        raise InvalidArguments(summary=f"The metadata {API_KEY} and {SECRET_KEY} (or {SECRET_PEM}) belong together")
    key, secret = (_text(name, told[name]) for name in given)
    try:
        return Principal.of(Credentials(key, secret))
    except SettingsError as error:
        raise InvalidArguments(summary=f"The metadata {given[1]} cannot be used: {error.problems[0]}") from None


def _text(name: str, value: str | bytes) -> str:
    text = value if isinstance(value, str) else value.decode("ascii", errors="replace")
    if not text.isascii():
        raise InvalidArguments(summary=f"The metadata {name} must be plain ASCII")
    return text.strip()
