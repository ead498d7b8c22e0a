"""Where fixtures are: ours in tests/data, and beside the checkout what is not ours to publish."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
BESIDE = Path(__file__).parents[3] / "shared"
RECORDED_MARKET = "the recorded market"
MARKET_HISTORY = "the history of real candles"
CONTRACT_DOCUMENTS = "the contract documents"
FOREIGN_PAYLOADS = "payloads of other projects"


@dataclass(frozen=True, slots=True)
class Unpublished:
    """What a public clone lacks: where it is beside a checkout, and how many tests are skipped without it."""

    path: Path
    tests: int

    @property
    def is_here(self) -> bool:
        return self.path.exists()


# Everything that may be skipped for want of a file. A test that needs one says so, and the numbers are checked.
UNPUBLISHED = {
    RECORDED_MARKET: Unpublished(BESIDE / "data" / "binance", 31),
    MARKET_HISTORY: Unpublished(BESIDE / "data" / "history", 3),
    CONTRACT_DOCUMENTS: Unpublished(BESIDE / "seeds", 14),
    FOREIGN_PAYLOADS: Unpublished(BESIDE / "data" / "payloads", 4),
}


@dataclass(frozen=True, slots=True)
class Collected:
    """What a run was asked for: the files, and how many of their tests need each of the unpublished."""

    files: Set[Path]
    needed: Mapping[str, int]


COLLECTED = pytest.StashKey[Collected]()


def needs(name: str) -> pytest.MarkDecorator:
    """Mark a test that reads what is not published."""
    return pytest.mark.needs(name)


def reason(name: str) -> str:
    """Return the words of a skip for want of something unpublished."""
    return f"needs {name}: not beside this checkout"


def needed_by(item: pytest.Item) -> set[str]:
    """Return what a test needs of the unpublished."""
    return {name for mark in item.iter_markers("needs") for name in mark.args}
