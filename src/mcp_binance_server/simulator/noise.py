"""Randomness that is a pure function of its key, so that any moment of the market can be read first."""

import hashlib
import struct

FULL = 1 << 32


def draws(count: int, *key: str | int) -> tuple[int, ...]:
    """Return `count` integers below 2**32 that depend on the key alone."""
    name = "|".join(map(str, key)).encode()
    return struct.unpack(f"<{count}I", hashlib.shake_128(name).digest(4 * count))


def signed_unit(draw: int) -> float:
    """Map a draw to [-1, 1)."""
    return draw / (FULL >> 1) - 1.0


def shares(total: int, weights: list[int], least: int) -> list[int]:
    """Divide a whole number by weights, exactly, giving every part at least `least`."""
    spare = total - least * len(weights)
    scale = sum(weights)
    parts = [least + spare * weight // scale for weight in weights]
    parts[-1] += total - sum(parts)
    return parts
