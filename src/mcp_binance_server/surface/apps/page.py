"""The built page of the live chart: its presence in this installation, and its text.

The page contains third-party code, so it is not part of a checkout: hatch_build.py builds it from web/ for every wheel.
"""

from functools import cache
from importlib.resources import files

PAGE = files(__package__ or "").joinpath("chart.html")


def is_built() -> bool:
    """Return whether this installation has the page."""
    return PAGE.is_file()


@cache
def text() -> str:
    """Return the page, read once; it is equal for all clients."""
    return PAGE.read_text("utf-8")
