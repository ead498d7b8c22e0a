"""Round values for an axis of numbers."""

from math import ceil, floor, log10

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MANTISSAS = ((1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0), (1.0, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))


def nice_step(span: float, count: float, least: float = 0.0) -> float:
    """Return the smallest round step that makes at most `count` ticks over a span, and no step below the least."""
    raw = max(span / max(count, 1.0), least, 1e-300)
    power = 10.0 ** floor(log10(raw))
    for step in STEPS:
        if step * power >= raw * (1 - 1e-9) and _whole(step * power, least):
            return step * power
    return 10.0 * power


def linear_ticks(low: float, high: float, count: float, least: float = 0.0) -> tuple[list[float], float]:
    """Return round values between low and high, and their step."""
    step = nice_step(high - low, count, least)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)], step


def logarithmic_ticks(low: float, high: float, count: float) -> list[float]:
    """Return values that are round in every decade; a range below a factor of three is cut evenly instead."""
    if high / low < 3:
        return linear_ticks(low, high, count)[0]
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for mantissas in MANTISSAS:
        found = [m * 10.0**power for power in powers for m in mantissas if low <= m * 10.0**power <= high]
        if len(found) <= count:
            return found
    stride = ceil(len(powers) / max(count, 1.0))
    return [10.0**power for power in powers[::stride] if low <= 10.0**power <= high]


def _whole(step: float, least: float) -> bool:
    # A price moves in ticks: a step of two and a half ticks would put labels between them.
    return not least or abs(step / least - round(step / least)) < 1e-6
