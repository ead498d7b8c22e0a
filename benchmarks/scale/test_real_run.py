"""A small real fleet beside its simulation, roughly; `sizes.py --check` does it at full size and strictly."""

from scale.check import checked
from scale.costs import load_costs
from scale.real_fleet import Load

# Pauses for which a client's connection does not stay open, as where the costs were measured.
SMALL = Load(sessions=150, pause_secs=8, seconds=4)


def test_a_small_real_fleet_uses_about_what_the_simulation_says() -> None:
    seen, rows = checked(2, 10, SMALL, load_costs())

    assert seen.failed < 0.02 * seen.calls_a_second * SMALL.seconds
    # The engine works for a few ticks of its clock in so short a time.
    assert [row for row in rows if not row.within(2) and row.name != "core of the engine"] == []
