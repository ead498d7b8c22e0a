"""A release rehearsed: all of RELEASING.md that needs neither an account nor a tag; see scripts/rehearse_release."""
