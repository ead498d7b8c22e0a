"""Whose account the services read: nobody's as they are built, a principal's in a copy made for one caller."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from mcp_binance_server.exchange.account import AccountClient
from mcp_binance_server.exchange.principal import Principal

WholeT = TypeVar("WholeT")
Ways = Mapping[int, tuple[str, ...]]
"""By the id of a record, its fields that lead to an account."""


def ways_to_accounts(whole: object) -> Ways:
    """Return through which fields of which records under this one an account is read.

    Only fields of records are looked into. What hides an account elsewhere keeps the one it was built with: nobody's.
    """
    ways: dict[int, tuple[str, ...]] = {}
    seen: set[int] = set()

    def leads(node: object) -> bool:
        if id(node) not in seen:
            seen.add(id(node))
            if isinstance(node, AccountClient):
                ways[id(node)] = ()
            elif names := tuple(name for name, each in _parts(node) if leads(each)):
                ways[id(node)] = names
        return id(node) in ways

    leads(whole)
    return ways


def lent_to(principal: Principal | None, whole: WholeT, ways: Ways, *, is_withheld: bool = False) -> WholeT:
    """Return a copy in which every account client is this principal's; what leads to none is shared, not copied."""
    return cast("WholeT", _Loan(principal, ways, is_withheld).copy(whole))


@dataclass(frozen=True, slots=True)
class _Loan:
    """One copying. A function that calls itself would be a cycle, and keep the principal until it is collected."""

    principal: Principal | None
    ways: Ways
    is_withheld: bool
    copies: dict[int, Any] = field(default_factory=dict[int, Any])

    def copy(self, node: Any) -> Any:  # noqa: ANN401 - any record
        if id(node) not in self.copies:
            self.copies[id(node)] = (
                replace(node, principal=self.principal, is_withheld=self.is_withheld)
                if isinstance(node, AccountClient)
                else replace(node, **{name: self.copy(getattr(node, name)) for name in self.ways.get(id(node), ())})
            )
        return self.copies[id(node)]


def _parts(node: object) -> list[tuple[str, object]]:
    if not is_dataclass(node) or isinstance(node, type):
        return []
    return [(each.name, getattr(node, each.name)) for each in fields(node) if each.init]
