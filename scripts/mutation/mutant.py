"""One mutant: where it is, what it changes, and how it is named."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

# A function is patched in a running process, a module is loaded again, a script goes to a server.
Reach = Literal["function", "module", "script"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file; `site` is its number among all of the file."""

    path: Path
    scope: str
    first_line: int
    last_line: int
    before: str
    after: str
    reach: Reach
    site: int
    around: range
    """The lines of the function that it changes."""
    nth: int = 1

    @property
    def key(self) -> str:
        """A name without a line number, so that it lasts as long as the code it changes."""
        again = "" if self.nth == 1 else f" #{self.nth}"
        where = f"{self.path.parent.name}/{self.path.name}"
        return f"{where}:{self.scope}: {self.before} -> {self.after}{again}"


def numbered(mutants: Iterable[Mutant]) -> Iterator[Mutant]:
    """Tell mutants of the same text in one function apart by their order."""
    seen: Counter[str] = Counter()
    for each in mutants:
        seen[each.key] += 1
        yield replace(each, nth=seen[each.key])
