"""The first bytes of new clients: whole requests are looked at at once, one for each token; the rest in turn."""

import asyncio
import re
from collections.abc import Callable

from mcp_binance_server.transports.http.claims import CLAIMS, claim_of

_END_OF_HEAD = b"\r\n\r\n"
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,20})[ \t]*\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_CLAIM = re.compile(rb"\r\n(%s):[ \t]*([^\r\n]*?)[ \t]*(?=\r\n)" % b"|".join(sorted(CLAIMS)), re.IGNORECASE)

Look = Callable[[], None]


class FirstLooks:
    """Newcomers who wait to be looked at: those who show one token or key take turns with those who show another.

    To parse a request and to wait for its turn or its rest costs three times as much as to let in a connection. Whoever
    opens a thousand a second, each as soon as another was closed for it, would have the loop for itself. So half a
    request waits, and so does the second one of a token in one round of the loop; each round, one of them is looked at.
    """

    def __init__(self) -> None:
        self._waiting: dict[bytes | None, dict[object, Look]] = {}
        self._claims: dict[object, bytes | None] = {}
        self._looked_at: set[bytes] = set()
        self._is_watched = False

    def is_due(self, data: bytes) -> bool:
        """Tell whether somebody who has sent this so far is looked at now."""
        if not is_whole(data):
            return False
        claim = _claim(data)
        if claim is not None:
            if claim in self._looked_at or claim in self._waiting:
                return False
            self._looked_at.add(claim)
            self._watch()
        return True

    def wait(self, newcomer: object, data: bytes, look: Look) -> None:
        self.drop(newcomer)
        claim = self._claims[newcomer] = _claim(data) if is_whole(data) else None
        self._waiting.setdefault(claim, {})[newcomer] = look
        self._watch()

    def drop(self, newcomer: object) -> None:
        if newcomer in self._claims:
            claim = self._claims.pop(newcomer)
            del self._waiting[claim][newcomer]
            if not self._waiting[claim]:
                del self._waiting[claim]

    def _watch(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        self._is_watched = False
        self._looked_at.clear()
        if not self._waiting:
            return
        claim, those = next(iter(self._waiting.items()))
        newcomer, look = next(iter(those.items()))
        self.drop(newcomer)
        if claim in self._waiting:
            self._waiting[claim] = self._waiting.pop(claim)
        look()
        if self._waiting:
            self._watch()


def is_whole(data: bytes) -> bool:
    """Tell whether somebody has sent a whole request, as far as one can see without parsing it."""
    end = data.find(_END_OF_HEAD)
    if end < 0:
        return False
    if length := _LENGTH.search(data, 0, end + 2):
        return len(data) - end - len(_END_OF_HEAD) >= int(length[1])
    return data.endswith(_LAST_CHUNK) if _CHUNKED.search(data, 0, end + 2) else True


def _claim(data: bytes) -> bytes | None:
    shown = _CLAIM.findall(data, 0, data.find(_END_OF_HEAD) + 2)
    return claim_of((name.lower(), value) for name, value in shown)
