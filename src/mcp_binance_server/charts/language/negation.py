"""Which stretches of a text say "not this", and where it changes its mind."""

import re
from dataclasses import dataclass
from typing import Final

_CUES: Final = (
    "no", "not", "without", "w/o", "don't", "dont", "do not", "hide", "hiding", "remove", "removing", "drop",
    "never mind", "nevermind", "forget", "skip", "exclude", "excluding", "except", "minus", "omit", "instead of",
    "rather than", "turn off", "switch off", "get rid of", "isn't", "never", "avoid",
)  # fmt: skip
# A list goes on after "or" and "and"; these words turn to what is wanted.
_ENDS: Final = (
    "but", "just", "only", "show", "with", "use", "add", "instead(?! of)", "from", "actually", "rather(?! than)",
    "please", "make",
)  # fmt: skip
_CORRECTIONS: Final = (
    "actually", "make it", "make that", "i mean", "scratch that", "correction", "on second thought", "change it to",
    "switch to", "no wait", "sorry",
)  # fmt: skip

_WORDS: Final = "|".join(sorted(_CUES, key=len, reverse=True))
CUE: Final = re.compile(rf"(?<!\w)(?:{_WORDS})(?!\w)")
# "nothing but price" asks for the price alone.
_ONLY: Final = re.compile(r"\bnothing (?:but|except|else)\b|\bwhy not\b|\bno matter\b|\bif not\b")
_END: Final = re.compile(rf"[,;\n]| - |\.(?=\s|$)|\b(?:{'|'.join(_ENDS)})\b")
# "don't show", "do not add": the verb right after the cue belongs to it.
_VERB: Final = re.compile(r"\s*(?:show|use|add|with|want|need|include|draw|put|make|give me|have)\b")
# What keeps a list going inside a negation: "no RSI or MACD", but not "no volume 4h".
JOINT: Final = re.compile(r"\s*(?:(?:,|/|&|\+|or|and|nor)\s*)+(?:(?:the|any|a|an|all|on|in|no|not)\s*)*")
_CORRECTION: Final = re.compile(rf"\b(?:{'|'.join(_CORRECTIONS)})\b|(?<!\w)instead(?! of)(?!\w)")


@dataclass(frozen=True, slots=True)
class Scopes:
    """The negated stretches, the words that open them, and the places of corrections."""

    stretches: tuple[tuple[int, int], ...] = ()
    cues: tuple[tuple[int, int], ...] = ()
    corrections: tuple[int, ...] = ()
    correction_words: tuple[tuple[int, int], ...] = ()

    def opened(self, place: int) -> int | None:
        """Return where the last negation begins whose stretch holds this place."""
        return max((start for start, end in self.stretches if start <= place < end), default=None)


def find_scopes(folded: str) -> Scopes:
    """Find what is negated: from the cue to the next comma, line end, "but", or word that asks for something."""
    spared = [found.span() for found in _ONLY.finditer(folded)]
    cues = [found.span() for found in CUE.finditer(folded) if not _inside(found.start(), spared)]
    corrections = [found.span() for found in _CORRECTION.finditer(folded)]
    return Scopes(
        stretches=tuple((after, _scope_end(folded, after)) for _start, after in cues),
        cues=(*cues, *spared),
        corrections=tuple(_turn(folded, *span) for span in corrections),
        correction_words=tuple(corrections),
    )


def _scope_end(folded: str, after: int) -> int:
    verb = _VERB.match(folded, after)
    end = _END.search(folded, verb.end() if verb else after)
    return end.start() if end else len(folded)


def _turn(folded: str, start: int, end: int) -> int:
    # "ETH 15m instead" corrects what stands before it in its own clause.
    if folded[start:end] != "instead":
        return end
    breaks = [folded.rfind(sign, 0, start) for sign in (",", ";", "\n", ".")]
    return max(*breaks, -1) + 1


def _inside(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)
