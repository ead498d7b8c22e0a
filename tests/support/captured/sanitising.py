"""Sanitiser of captured answers: keys, ids, names and amounts of an account are replaced, the same by the same."""

import re
from collections.abc import Callable, Iterable
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final, cast

_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_IP: Final = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
# API keys, secrets and listen keys have 60 to 64 letters and digits.
_KEY: Final = re.compile(r"\b[A-Za-z0-9]{40,}\b")

# Members of account answers by what they hold; names of events are those of one letter.
IDS: Final = frozenset({"orderId", "orderListId", "id", "tradeId", "uid", "accountId", "preventedMatchId"})
NAMES: Final = frozenset({"clientOrderId", "origClientOrderId", "listClientOrderId", "accountAlias", "email", "alias"})
AMOUNTS: Final = frozenset({
    "free", "locked", "origQty", "executedQty", "cummulativeQuoteQty", "origQuoteOrderQty", "icebergQty", "qty",
    "quoteQty", "commission", "preventedQuantity",
})  # fmt: skip
EVENT_IDS: Final = frozenset({"i", "t", "I", "g"})
EVENT_NAMES: Final = frozenset({"c", "C"})
EVENT_AMOUNTS: Final = frozenset({"q", "z", "Z", "l", "Y", "Q", "n", "F"})
FIRST_ID: Final = 1_000_001


class SecretFound(Exception):
    """A secret is in a text that was about to be written."""


class Sanitiser:
    """Replaces what belongs to an account; equal values get equal replacements, so that relations survive."""

    def __init__(self, secrets: Iterable[str], *, factor: Decimal) -> None:
        """Take the secrets of the environment, and the factor of every amount."""
        self._secrets = [secret for secret in secrets if secret]
        self._factor = factor
        self._ids: dict[int, int] = {}
        self._names: dict[str, str] = {}

    def public(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        """Return a public answer without keys, e-mails and addresses."""
        return self._walked(value, lambda _, each: each)

    def private(self, value: Any, *, is_event: bool = False) -> Any:  # noqa: ANN401 - JSON
        """Return an account's answer with other ids, names and amounts."""
        ids, names, amounts = (EVENT_IDS, EVENT_NAMES, EVENT_AMOUNTS) if is_event else (IDS, NAMES, AMOUNTS)

        def replaced(member: str, each: object) -> object:
            if member in ids and isinstance(each, int):
                return self._id(each)
            if member in names and isinstance(each, str) and each:
                return self._name(each)
            if member in amounts and isinstance(each, str):
                return self._amount(each)
            return each

        return self._walked(value, replaced)

    def check(self, written: bytes) -> None:
        """Check that no secret is in a text.

        Raises:
            SecretFound: one is; the message does not hold it.
        """
        if any(secret.encode() in written for secret in self._secrets):
            raise SecretFound("a secret of the environment is in an answer; nothing of it was written")

    def _walked(self, value: Any, replaced: Callable[[str, object], object], member: str = "") -> Any:  # noqa: ANN401
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            return {name: self._walked(each, replaced, name) for name, each in members.items()}
        if isinstance(value, list):
            return [self._walked(each, replaced, member) for each in cast("list[object]", value)]
        found = replaced(member, value)
        return self._text(found) if isinstance(found, str) else found

    def _text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "SECRET")
        return _KEY.sub("KEY", _IP.sub("192.0.2.1", _EMAIL.sub("person@example.com", text)))

    def _id(self, number: int) -> int:
        # A negative id says that there is none.
        return number if number < 0 else self._ids.setdefault(number, FIRST_ID + len(self._ids))

    def _name(self, name: str) -> str:
        return self._names.setdefault(name, f"order-{len(self._names) + 1}")

    def _amount(self, text: str) -> str:
        try:
            amount = Decimal(text)
        except ArithmeticError:
            return "0"
        # One factor for all: a price times a quantity stays what was paid, to the last digit but one.
        scaled = (amount * self._factor).quantize(Decimal(1).scaleb(int(amount.as_tuple().exponent)), ROUND_DOWN)
        return format(scaled, "f")
