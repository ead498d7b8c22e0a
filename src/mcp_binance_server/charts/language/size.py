"""How large the picture is, and what the plan allows."""

import re
from typing import Final

from mcp_binance_server.charts.config import DEFAULT_SIZE
from mcp_binance_server.charts.language.reading import SentenceReader, quoted
from mcp_binance_server.charts.plans import PLANS, Plan

SMALLEST: Final = (400, 300)
LARGEST: Final = (max(plan.max_width for plan in PLANS.values()), max(plan.max_height for plan in PLANS.values()))
_NAMED: Final = {
    "720p": (1280, 720), "1080p": (1920, 1080), "1440p": (2560, 1440), "4k": (3840, 2160), "8k": (7680, 4320),
    "full hd": (1920, 1080), "fullhd": (1920, 1080), "hd": (1280, 720), "uhd": (3840, 2160),
}  # fmt: skip
_EXACT: Final = re.compile(
    r"(?<![\w.,])(?:(?:portrait|landscape|square|size|resolution|at|in) )*"
    r"(?P<width>\d{2,5}) ?(?:x|by|\*|px by) ?(?P<height>\d{2,5})(?:[ ]?(?:px|pixels))?(?![\w.])"
)
_NAME: Final = re.compile(
    rf"(?<![\w.,])(?:(?:in|at) )?(?P<name>{'|'.join(_NAMED)})"
    r"(?: (?:resolution|quality|image|picture|size|chart))?(?!\w)"
)


def find_size(reading: SentenceReader) -> tuple[int, int] | None:
    """Take the size that the text names, as written or by the name of a screen."""
    sizes: list[tuple[int, int]] = []
    for match in _EXACT.finditer(reading.left):
        sizes.append((int(match["width"]), int(match["height"])))
        reading.take(*match.span())
    for match in _NAME.finditer(reading.left):
        # "near 4k" is a price.
        if not re.search(
            r"(?:near|above|below|over|under|around|at|@|to|from|target|tp|stop|sl|entry) $",
            reading.left[: match.start()],
        ):
            sizes.append(_NAMED[match["name"]])
            reading.take(*match.span())
    if len(set(sizes)) > 1:
        first = "x".join(map(str, sizes[0]))
        reading.warn("conflicting_size", f"{len(set(sizes))} sizes were asked for; {first} is drawn")
    return sizes[0] if sizes else None


def settle_size(reading: SentenceReader, asked: tuple[int, int] | None, plan: Plan | None) -> tuple[int, int]:
    """Return the size to draw: as asked within what can be drawn at all, or the default that the plan allows."""
    if asked is None:
        return _default(reading, plan)
    width, height = asked
    if width > LARGEST[0] or height > LARGEST[1]:
        factor = min(LARGEST[0] / width, LARGEST[1] / height)
        width, height = max(SMALLEST[0], _even(width * factor)), max(SMALLEST[1], _even(height * factor))
        most = "x".join(map(str, LARGEST))
        reading.warn(
            "resolution_over_max", f"{quoted('x'.join(map(str, asked)))} is more than {most}; {width}x{height} is drawn"
        )
        return width, height
    if width < SMALLEST[0] or height < SMALLEST[1]:
        width, height = max(width, SMALLEST[0]), max(height, SMALLEST[1])
        reading.warn("size_clamped", f"the smallest chart is {SMALLEST[0]}x{SMALLEST[1]}; {width}x{height} is drawn")
    if plan and not plan.fits(width, height):
        reading.warn("plan_limit", f"{width}x{height} is more than the {plan.max_resolution} of the {plan.name} plan")
    return width, height


def _default(reading: SentenceReader, plan: Plan | None) -> tuple[int, int]:
    if plan is None or plan.fits(*DEFAULT_SIZE):
        return DEFAULT_SIZE
    width, height = plan.default_size(DEFAULT_SIZE)
    reading.warn("size_clamped", f"the {plan.name} plan draws at most {plan.max_resolution}; {width}x{height} is drawn")
    return width, height


def _even(length: float) -> int:
    return int(length) // 2 * 2
