"""A caller's own Binance key, from the headers of a request."""

from collections.abc import Iterable

from starlette.types import Scope

from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.transports.arrival import KEYS_READABLE
from mcp_binance_server.transports.http.forwarded import arrival_of

API_KEY = b"x-binance-api-key"
SECRET_KEY = b"x-binance-secret-key"
LONGEST = 8192


class KeysRefused(Exception):
    """Keys that are not taken; the text says why and holds nothing of them."""


class KeysMisplaced(KeysRefused):
    """Keys in the middle of a session that was opened without them; the text says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "This session was opened without these keys. Open a new session with them: send initialize without a "
            "session id, with X-Binance-Api-Key and X-Binance-Secret-Key"
        )


def principal_in(scope: Scope) -> Principal | None:
    """Return whose account the request's own keys open; None without keys.

    Raises:
        KeysRefused: half a pair, a pair twice, characters no key has, or keys over a line that others can read.
    """
    keys, secrets = _values(scope["headers"], API_KEY), _values(scope["headers"], SECRET_KEY)
    if not keys and not secrets:
        return None
    if len(keys) != 1 or len(secrets) != 1:
        raise KeysRefused("X-Binance-Api-Key and X-Binance-Secret-Key belong together, each once")
    if not arrival_of(scope).is_private:
        raise KeysRefused(KEYS_READABLE)
    try:
        return Principal.of(Credentials(_text(keys[0]), _text(secrets[0])))
    except (ValueError, SettingsError):
        raise KeysRefused("These headers hold no Binance key") from None


def named_key(scope: Scope) -> bytes | None:
    """Return the API key a request names, without looking at anything else."""
    return next(iter(_values(scope["headers"], API_KEY)), None)


def _values(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _text(value: bytes) -> str:
    text = value.decode("ascii").strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise ValueError
    # A PEM has lines and a header has not: they come as the two characters that stand for a line's end.
    return text.replace("\\n", "\n")
