"""Draw the pictures of docs/how-sure.md from measured windows: PYTHONPATH=benchmarks python -m calibration.pictures.

The market of both is made of nothing: parent orders of a quarter of a minute, each bought or sold by a coin.
"""

from pathlib import Path

from calibration.tapes import signed

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WINDOWS = 240
ORDINARY, RARE = 0.68, 0.905
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
STYLE = """
    .card { fill: #ffffff; stroke: #d4d7dd }
    .bar, .dot { fill: #c3c9d3 }
    .mark { stroke: #b7791f; stroke-width: 2; fill: none }
    .hit { fill: #d9a514 }
    .name { fill: #14171c; font-size: 17px; font-weight: 600 }
    .say { fill: #4a515d; font-size: 13px }
    @media (prefers-color-scheme: dark) {
      .card { fill: #16181d; stroke: #343943 }
      .bar, .dot { fill: #4a515d }
      .mark { stroke: #e3b341 }
      .name { fill: #f2f4f7 }
      .say { fill: #b4bbc7 }
    }
"""


def windows() -> list[float]:
    """Return the larger side's share of each of the 240 minutes."""
    out: list[float] = []
    for i in range(WINDOWS):
        tape = signed(7 + 7919 * i, 60, parent_s=15)
        bought = sum(size for size, sell in zip(tape.size, tape.sell, strict=True) if not sell) / sum(tape.size)
        out.append(max(bought, 1 - bought))
    return out


def seen(shares: list[float], share: float) -> int:
    """Return how many of the windows were as one-sided."""
    return sum(each >= share for each in shares)


def histogram(shares: list[float]) -> str:
    """Draw how often each one-sidedness is seen, and where two readings of a day lie in it."""
    left, base, width, count = 60, 290, 40, 20
    heights = [sum(0.5 + i * 0.025 <= each < 0.525 + i * 0.025 for each in shares) for i in range(count)]
    bars = "".join(
        f'<rect class="bar" x="{left + i * width + 2}" y="{base - 4.5 * h}" width="{width - 4}" height="{4.5 * h}"/>'
        for i, h in enumerate(heights)
    )
    marks = ""
    for share, words in ((ORDINARY, "ordinary, nothing to say"), (RARE, "unusual here")):
        x = left + (share - 0.5) / 0.025 * width
        lines = (f"as much in {seen(shares, share)} of {WINDOWS} minutes:", words)
        marks += f'<path class="mark" d="M{x:.0f} 76 V{base}"/>'
        marks += f'<text class="name" x="{x + 10:.0f}" y="90">{share:.1%} on one side</text>'
        marks += "".join(
            f'<text class="say" x="{x + 10:.0f}" y="{110 + 18 * i}">{line}</text>' for i, line in enumerate(lines)
        )
    axis = "".join(
        f'<text class="say" x="{left + i * 4 * width}" y="{base + 22}" text-anchor="middle">{50 + 10 * i} %</text>'
        for i in range(6)
    )
    heading = '<text class="name" x="40" y="42">240 minutes in which nobody knew anything</text>'
    foot = '<text class="say" x="40" y="342">share of the larger side in what takers traded in a minute</text>'
    label = "How one-sided 240 minutes without any information were, and where two readings lie among them"
    return _page(label, 360, heading + bars + marks + axis + foot)


def dots(shares: list[float]) -> str:
    """Draw each minute as a dot; those as one-sided as the rare reading are filled."""
    k = seen(shares, RARE)
    body = f'<text class="name" x="40" y="42">Seen in {k} of the last {WINDOWS} minutes ({k / WINDOWS:.1%})</text>'
    for i, share in enumerate(shares):
        kind, radius = ("hit", 8) if share >= RARE else ("dot", 5)
        body += f'<circle class="{kind}" cx="{56 + (i % 40) * 20.5:.1f}" cy="{78 + (i // 40) * 24}" r="{radius}"/>'
    body += '<text class="say" x="40" y="236">a dot is a minute of the symbol\'s own past, newest last; '
    body += "the large ones were as unusual as now</text>"
    return _page(f"{WINDOWS} dots, a dot a minute, {k} of them marked as being as one-sided as now", 256, body)


def _page(label: str, height: int, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 {height}" role="img" aria-label="{label}" '
        f'font-family="{FONT}">\n  <style>{STYLE}  </style>\n'
        f'  <rect class="card" x="1" y="1" width="918" height="{height - 2}" rx="10"/>\n  {body}\n</svg>\n'
    )


def pictures() -> dict[str, str]:
    """Return the text of each picture by its file's name."""
    shares = windows()
    return {"null-minutes.svg": histogram(shares), "base-rate.svg": dots(shares)}


if __name__ == "__main__":
    for name, text in pictures().items():
        (IMAGES / name).write_text(text, encoding="utf-8")
