"""One mutant: its place, its change and its ID."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

# A function is patched in a running process, a module is reloaded, and a script is sent to a server.
Reach = Literal["function", "module", "script"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file. `site` is its number within the file."""

    path: Path
    scope: str
    first_line: int
    last_line: int
    before: str
    after: str
    reach: Reach
    site: int
    around: range
    """Lines of the function around the change."""
    nth: int = 1

    @property
    def key(self) -> str:
        """The ID. It has no line number, so that it stays valid while the code around it moves."""
        again = "" if self.nth == 1 else f" #{self.nth}"
        where = f"{self.path.parent.name}/{self.path.name}"
        return f"{where}:{self.scope}: {self.before} -> {self.after}{again}"


def numbered(mutants: Iterable[Mutant]) -> Iterator[Mutant]:
    """Number the mutants of a function that have the same text."""
    seen: Counter[str] = Counter()
    for each in mutants:
        seen[each.key] += 1
        yield replace(each, nth=seen[each.key])
