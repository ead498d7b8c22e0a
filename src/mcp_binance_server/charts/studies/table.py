"""Table of the local studies by API name, and validation of their inputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType

from mcp_binance_server.charts.studies.overlays import OVERLAYS
from mcp_binance_server.charts.studies.panes import PANES
from mcp_binance_server.charts.studies.study import LONGEST, SOURCES, Inputs, Plot, Scalar, Study

_CHOICES = {"source": SOURCES, "volume": ("Up/Down", "Total", "Delta")}

STUDIES: Mapping[str, Study] = MappingProxyType({each.name: each for each in (*OVERLAYS, *PANES)})


@dataclass(frozen=True, slots=True)
class Settled:
    """A study with validated inputs, its name in the legend, and warnings about rejected inputs."""

    study: Study
    inputs: Inputs
    label: str
    warnings: tuple[str, ...]


def repaints(settled: Settled, plot: Plot) -> bool:
    """Return True if a new bar changes values of the plot at earlier bars."""
    if plot.looks_ahead or settled.study.running:
        return True
    moved = [value for key, value in settled.inputs.values.items() if "offset" in key.lower()]
    return any(isinstance(value, int) and value < 0 for value in moved)


def settle(study: Study, given: Mapping[str, Scalar]) -> Settled:
    """Convert each input to the type of its default.

    A value that cannot be used becomes the default, with a warning.
    """
    values: dict[str, Scalar] = dict(study.inputs)
    warnings: list[str] = []
    for key, value in given.items():
        if key not in values:
            if key not in study.undrawn:
                warnings.append(f"study_input_unknown: {study.name} has no input {key!r}; it was left out.")
            elif value not in (None, "", "None"):
                warnings.append(f"study_input_ignored: {key} of {study.name} is not drawn by the local renderer.")
            continue
        taken = _taken(key, value, values[key])
        if taken is None:
            warnings.append(f"param_out_of_range: {key} of {study.name} stays at {values[key]}; {value!r} is invalid.")
        else:
            values[key] = taken
    inputs = Inputs(values)
    return Settled(study, inputs, _label(study, inputs), tuple(warnings))


def _taken(key: str, value: Scalar, default: Scalar) -> Scalar | None:
    if isinstance(default, bool):
        return value if isinstance(value, bool) else None
    if isinstance(default, str):
        allowed = _CHOICES.get(key, ("Simple", "Exponential", "Weighted"))
        return value if value in allowed else None
    if isinstance(value, bool | str) or not isfinite(value):
        return None
    if isinstance(default, float):
        return float(value) if abs(value) <= LONGEST else None
    lowest = -LONGEST if "offset" in key.lower() else 1
    return int(value) if value == int(value) and lowest <= value <= LONGEST else None


def _label(study: Study, inputs: Inputs) -> str:
    shown = [
        f"{value:g}" if isinstance(value, float) else str(value)
        for key, value in inputs.values.items()
        if not isinstance(value, bool) and not (isinstance(value, str) and value == study.inputs[key])
        and not ("offset" in key.lower() and value == study.inputs[key])
    ]  # fmt: skip
    return " ".join([study.title, *shown])
