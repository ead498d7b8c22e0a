"""How often each judgement speaks on a market made of nothing, and how often it finds what was put there."""
