"""The mark that ties a test to the contract."""

import pytest


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Name the requirements a test proves, by their ids in `tests/requirements`, as literal strings."""
    return pytest.mark.requirement(*ids)
