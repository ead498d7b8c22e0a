"""Playbooks under guide://: found on disk, opened safely, resolved, framed and searched."""
