"""Who asks, and what they may do."""

from dataclasses import dataclass
from typing import Literal, get_args

Scope = Literal["market:read", "account:read", "trade"]
SCOPES: frozenset[Scope] = frozenset(get_args(Scope))
ANYBODY = "anybody"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody at the door: `name` tells one from every other, and no two share what is private."""

    name: str = ANYBODY
    scopes: frozenset[Scope] = SCOPES

    @property
    def is_known(self) -> bool:
        """Whether somebody was asked who this is."""
        return self.name != ANYBODY

    def lacks(self, needed: frozenset[Scope]) -> frozenset[Scope]:
        return needed - self.scopes


LOCAL = Visitor()
"""The one user of a local process, or anybody at a door without a lock."""
