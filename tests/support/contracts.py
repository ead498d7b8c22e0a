"""The contract documents and shared data beside the checkout; a test that needs them says so when they are absent."""

from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[3] / "shared"
DOCUMENTS = {"resources": "000_*", "prompts": "001_*", "guide": "002_*", "chart tools": "003_*", "data model": "004_*"}


def beside(relative: str) -> Path:
    """Return a path in the shared folder, or skip the test with a plain reason."""
    path = BESIDE / relative
    if not path.exists():
        pytest.skip(f"needs ../shared/{relative}, which is not beside this checkout")
    return path


def read_contract(subject: str) -> str:
    """Return the text of a contract document."""
    (path,) = beside("seeds").glob(DOCUMENTS[subject])
    return path.read_text(encoding="utf-8")
