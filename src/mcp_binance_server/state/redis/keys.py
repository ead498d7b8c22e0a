"""How keys are named: one hash tag for all, so that every script also finds them together in a cluster."""

PREFIX = "{mcp-binance}:"
MEMORY = f"{PREFIX}memory"


def value(key: str) -> str:
    return f"{PREFIX}value:{key}"


def lease(name: str) -> str:
    return f"{PREFIX}lease:{name}"


def newest_token(name: str) -> str:
    return f"{PREFIX}token:{name}"


def channel(name: str) -> str:
    return f"{PREFIX}channel:{name}"


def lock(key: str) -> str:
    return f"{PREFIX}lock:{key}"


def outcome(production: str) -> str:
    return f"{PREFIX}outcome:{production}"


def minute(ip: str, number: int) -> str:
    return f"{PREFIX}weight:{ip}:{number}"


def spenders(ip: str, number: int, kind: str) -> str:
    return f"{PREFIX}weight:{ip}:{number}:{kind}"


def stop(ip: str) -> str:
    return f"{PREFIX}stop:{ip}"


def pool(name: str) -> str:
    return f"{PREFIX}pool:{name}"


def parties(pool: str) -> str:
    return f"{PREFIX}pool-parties:{pool}"


def shelf(name: str) -> tuple[str, str]:
    """Return where the values are, and when each ends."""
    return f"{PREFIX}shelf:{name}", f"{PREFIX}shelf-ends:{name}"
