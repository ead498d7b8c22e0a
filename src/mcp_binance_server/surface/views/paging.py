"""The next step of a list that was cut: a tool and its arguments, ready to be called."""

import json


def next_step(tool: str, **arguments: str | int | list[str] | None) -> str:
    """Write a call; arguments that say nothing are left out."""
    said = {name: value for name, value in arguments.items() if value is not None}
    return f"{tool} {json.dumps(said, ensure_ascii=False)}"


def counted(count: int, limit: int | None = None, total: int | None = None) -> str:
    """Say how many rows are shown, of how many, and at most: `2 of 12 shown, limit 2`."""
    shown = f"{count} shown" if total is None else f"{count} of {total} shown"
    return shown if limit is None else f"{shown}, limit {limit}"


def with_more(lines: list[str], more: str | None) -> str:
    """Join the lines of a list; the next step comes last, where it is read."""
    return "\n".join([*lines, f"More: {more}"] if more else lines)
