"""The built page of the live chart: whether this installation has it, and what it says.

It holds code of others, so it is no part of a checkout: hatch_build.py makes it from web/, for every wheel.
"""

from functools import cache
from importlib.resources import files

PAGE = files(__package__ or "").joinpath("chart.html")


def is_built() -> bool:
    """Tell whether this installation has the page."""
    return PAGE.is_file()


@cache
def text() -> str:
    """Return the page; it is the same for everybody, and read once."""
    return PAGE.read_text("utf-8")
