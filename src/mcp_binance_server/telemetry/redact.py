"""Takes secrets out of text that is about to leave the process."""

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"
SHORTEST_SECRET = 8
# A signature is no key, but it is a right to one request for as long as its window is open.
_SIGNATURE = re.compile(r"(signature=)[^&\s\"']+")


class Redactor:
    """Knows the secrets of this process and cuts them out; its repr shows none."""

    def __init__(self, secrets: Iterable[str]) -> None:
        parts = {part for secret in secrets for part in secret.split() if len(part) >= SHORTEST_SECRET}
        self._known = re.compile("|".join(map(re.escape, sorted(parts, key=len, reverse=True)))) if parts else None

    def redact(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        return _SIGNATURE.sub(rf"\g<1>{HIDDEN}", text)

    def __repr__(self) -> str:
        return "Redactor()"
