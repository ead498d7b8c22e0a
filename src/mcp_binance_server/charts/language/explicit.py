"""Explicit values in a text: EXCHANGE:SYMBOL, width and height."""

import re
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.config import DEFAULT_SIZE, Findings
from mcp_binance_server.charts.dialect.symbol import read_symbol
from mcp_binance_server.charts.language.names import Listing
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, quoted
from mcp_binance_server.charts.language.tickers import Wanted
from mcp_binance_server.charts.plans import PLANS, Plan

_FULL: Final = re.compile(r"(?<![\w:])[a-z][a-z0-9_]{1,14}:[a-z0-9][a-z0-9_.!]{0,29}")
_FORMULA: Final = re.compile(r"[a-z0-9_:.!()+*/-]+")
_WITH_DIGITS: Final = re.compile(
    r"(?<![\w:$#.])[$#]?(?P<ticker>(?:\d+[a-z]{2,}|[a-z]+\d+)[a-z0-9]*)(?P<perp>[.]p)?(?![\w:])"
)

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


def find_explicit(reading: SentenceReader, catalogue: ChartCatalogue) -> list[Mention[Wanted]]:
    """Extract full symbols and formulas, in upper case."""
    found: list[Mention[Wanted]] = []
    while (match := _FULL.search(reading.left)) is not None:
        start, end = match.span()
        around = next((each for each in _FORMULA.finditer(reading.left) if each.start() <= start < each.end()), match)
        formula = _valid(around[0], catalogue)
        if formula and around[0] != match[0]:
            found.append(reading.mention(Wanted(full=formula), *around.span()))
            continue
        # The dot that ends a sentence can directly follow the symbol.
        text = match[0].rstrip(".!") if not match[0].endswith("1!") else match[0]
        symbol = _valid(text, catalogue)
        written = reading.text[start:end]
        known = catalogue.exchange(text.partition(":")[0]) is not None
        if symbol and (known or written.upper() == written):
            found.append(reading.mention(Wanted(full=symbol), start, start + len(text)))
        else:
            break
    return found


def find_tickers_with_digits(reading: SentenceReader, listing: Listing) -> list[Mention[Wanted]]:
    """Extract tickers such as 1000SATS or 1INCH. Later rules would read their digits as a length or a time."""
    found: list[Mention[Wanted]] = []
    for match in _WITH_DIGITS.finditer(reading.left):
        ticker = match["ticker"].upper()
        perpetual = match["perp"] is not None
        for suffix in ("PERP", ""):
            bare = ticker.removesuffix(suffix) if suffix else ticker
            pair = listing.pairs.get(bare) or _thousand_pair(bare, listing)
            if pair:
                wanted = Wanted(base=pair[0], quote=pair[1], perpetual=perpetual or bare != ticker)
                found.append(reading.mention(wanted, *match.span()))
                break
            if bare in listing.bases or _is_thousand(bare, listing):
                found.append(reading.mention(Wanted(base=bare, perpetual=perpetual or bare != ticker), *match.span()))
                break
    return found


def _is_thousand(ticker: str, listing: Listing) -> bool:
    # Perpetuals of coins with tiny prices are quoted per thousand coins: 1000PEPE.
    bare = re.sub(r"^1(?:000){1,2}", "", ticker)
    return bare != ticker and len(bare) > 2 and listing.knows(bare)


def _thousand_pair(ticker: str, listing: Listing) -> tuple[str, str] | None:
    pair = listing.split(ticker)
    return pair if pair and _is_thousand(pair[0], listing) else None


def _valid(text: str, catalogue: ChartCatalogue) -> str | None:
    findings = Findings()
    symbol = read_symbol(text, catalogue, findings)
    return None if findings.errors else symbol


def find_size(reading: SentenceReader) -> tuple[int, int] | None:
    """Extract the size, written in pixels or as the name of a screen."""
    sizes: list[tuple[int, int]] = []
    for match in _EXACT.finditer(reading.left):
        sizes.append((int(match["width"]), int(match["height"])))
        reading.take(*match.span())
    for match in _NAME.finditer(reading.left):
        # In "near 4k" the number is a price.
        if not re.search(
            r"(?:near|above|below|over|under|around|at|@|to|from|target|tp|stop|sl|entry) $",
            reading.left[: match.start()],
        ):
            sizes.append(_NAMED[match["name"]])
            reading.take(*match.span())
    if len(set(sizes)) > 1:
        first = "x".join(map(str, sizes[0]))
        reading.warn("conflicting_size", f"{len(set(sizes))} sizes were requested; {first} is drawn")
    return sizes[0] if sizes else None


def settle_size(reading: SentenceReader, asked: tuple[int, int] | None, plan: Plan | None) -> tuple[int, int]:
    """Return the size to draw: the requested size within the renderer's limits, or the default of the plan."""
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
