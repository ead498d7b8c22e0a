"""Requests as tired people type them: slips of the finger, other case, other order, noise; the same for one seed."""

from random import Random

NOISE = (
    "pls", "🚀", "lol", "???", "...", "now!!", "<b>", "50", "kindly", "\u200b", "and", "no", "not", "with", "-", "at",
    "1h", "in", "2024", "EMA", "last", "\n", "$", "(", ")", "%", "0", "-1", "99999999999", "since", "vs", "BTC", ":",
    "long", "k",
)  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 ,.%/-:$()"
CASES = (str.upper, str.lower, str.title, str.swapcase)


def mutated(text: str, others: list[str], random: Random) -> str:
    """Return a text with one to four accidents."""
    for _ in range(random.randint(1, 4)):
        text = _accident(text or "x", others, random)
    return text[:2_000]


def _accident(text: str, others: list[str], random: Random) -> str:
    place, words = random.randrange(len(text)), text.split(" ")
    between = random.randrange(len(words) + 1)
    return random.choice(
        (
            text[:place] + text[place + 1 :],
            text[:place] + text[place] + text[place:],
            text[:place] + random.choice(LETTERS) + text[place + 1 :],
            random.choice(CASES)(text),
            " ".join(random.sample(words, len(words))),
            " ".join((*words[:between], random.choice(NOISE), *words[between:])),
            f"{text} {random.choice(others)[:60]}",
        )
    )
