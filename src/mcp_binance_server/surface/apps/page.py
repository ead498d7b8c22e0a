"""The built page of the live chart, if this installation has it.

The page contains third-party code, so it is not in the repository. hatch_build.py builds it from web/ for every wheel.
"""

from functools import cache
from importlib.resources import files

PAGE = files(__package__ or "").joinpath("chart.html")


def is_built() -> bool:
    """Return whether this installation has the page."""
    return PAGE.is_file()


@cache
def text() -> str:
    """Return the page as text. It is cached, because it is the same for all clients."""
    return PAGE.read_text("utf-8")
