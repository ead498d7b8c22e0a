"""A release rehearsal: all steps of RELEASING.md that need no account and no tag; see scripts/rehearse_release."""
