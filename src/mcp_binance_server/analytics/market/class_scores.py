"""Scores that calm markets of a class exceed in only one of 100 minutes.

They are used while a market's history is short. Written by benchmarks/calibration/classes.py. If several kinds of
markets share a class, the lowest of their 99th percentiles counts.
"""

from collections.abc import Mapping

SCORES_VERSION = 1
# Simulated calm books (zero-intelligence model): minutes and class of each kind.
ORIGIN: Mapping[str, tuple[int, str]] = {
    "btc-like": (620, "tick under 0.1 bps, 60 to 600 trades a minute"),
    "xrp-like": (620, "tick 0.1 to 1 bps, 60 to 600 trades a minute"),
    "pepe-like": (620, "tick 5 bps or more, 60 to 600 trades a minute"),
    "thin-alt": (620, "tick 0.1 to 1 bps, 60 to 600 trades a minute"),
    "heavy sizes": (620, "tick under 0.1 bps, 600 or more trades a minute"),
}
HIGH_SCORES: Mapping[str, Mapping[str, float]] = {
    "tick under 0.1 bps, 60 to 600 trades a minute": {
        "hidden_size": 2.3683,
        "absorption": 1.2654,
        "came_and_went": 0.8538,
        "flood": 0.6165,
        "standing_size": 0.3928,
        "stress": 2.8768,
    },
    "tick 0.1 to 1 bps, 60 to 600 trades a minute": {
        "hidden_size": 2.0609,
        "absorption": 1.7470,
        "came_and_went": 0.2684,
        "flood": 0.5048,
        "standing_size": 0.0000,
        "stress": 2.6545,
    },
    "tick 5 bps or more, 60 to 600 trades a minute": {
        "hidden_size": 4.4003,
        "absorption": 1.5552,
        "came_and_went": 0.3148,
        "flood": 0.6287,
        "standing_size": 0.0000,
        "stress": 7.4768,
    },
    "tick under 0.1 bps, 600 or more trades a minute": {
        "hidden_size": 4.0709,
        "absorption": 1.5009,
        "flood": 0.9151,
        "stress": 3.5510,
    },
}
