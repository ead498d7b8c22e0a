"""Rehearsal of a release: all steps of RELEASING.md that need no account and no tag. See scripts/rehearse_release."""
