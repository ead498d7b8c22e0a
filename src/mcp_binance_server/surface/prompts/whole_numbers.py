"""Whole numbers as prompts get them: as text."""

import re

from pydantic import BeforeValidator


def within(low: int, high: int) -> BeforeValidator:
    """Read a whole number of this range from text."""

    def read(value: object) -> int:
        text = value.strip() if isinstance(value, str) else str(value)
        if not re.fullmatch("[0-9]{1,9}", text) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return BeforeValidator(read)
