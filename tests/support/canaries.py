"""Secrets looked for in whatever a server says: also a piece of one is too much."""

WINDOW = 9


def pieces(*secrets: str) -> set[str]:
    return {secret[at : at + WINDOW] for secret in secrets for at in range(len(secret) - WINDOW + 1)}


def hits(text: str, wanted: set[str]) -> set[str]:
    return {text[at : at + WINDOW] for at in range(len(text) - WINDOW + 1)} & wanted
