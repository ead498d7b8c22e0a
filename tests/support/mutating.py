"""Bytes and values broken by chance: a bit, a piece, a member, a whole value of another kind."""

from random import Random
from typing import Any

PIECES = (b'"', b"{", b"}", b"\\u0000", b"null", b"1e9", b"\xff", b"[", b",")
# What stands where a text, a number or a list was expected.
STRANGERS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.5, 2**70, "", " ", "yes", "NaN", "1e9", "\x00", "\u202e", "\u017f", [], {}, [None],
    {"": ""}, "x" * 5_000,
)  # fmt: skip


def mutant(random: Random, frame: bytes) -> bytes:
    """Return bytes with one to three things wrong in them."""
    data = bytearray(frame)
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(data) + 1)
        match random.randrange(6):
            case 0 if place < len(data):
                data[place] ^= 1 << random.randrange(8)
            case 1:
                data.insert(place, random.randrange(256))
            case 2 if place < len(data):
                del data[place]
            case 3:
                del data[place : place + random.randrange(12)]
            case 4:
                piece = data[place : place + random.randrange(12)]
                data[place:place] = piece
            case _:
                data[place:place] = random.choice(PIECES)
    return bytes(data)


def mutated(random: Random, value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with one to three members changed, renamed, added or gone."""
    found = dict(value)
    for _ in range(random.randint(1, 3)):
        name = random.choice([*found, "decision", "action", ""])
        match random.randrange(5):
            case 0:
                found[name] = random.choice(STRANGERS)
            case 1:
                found.pop(name, None)
            case 2 if isinstance(found.get(name), str):
                found[name] = mutant(random, found[name].encode()).decode(errors="replace")
            case 3:
                found[name.swapcase() or "x"] = found.get(name, random.choice(STRANGERS))
            case _:
                found[name] = [found.get(name)]
    return found
