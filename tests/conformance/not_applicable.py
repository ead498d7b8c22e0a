"""What of the suite does not apply to this server, and why. A scenario that passes may not stand here."""

_TASKS = "an optional extension: nothing here runs longer than a request, and the SDK does not have it"
_SKILLS = "an optional extension: playbooks are resources at guide://, which every client can read"

NOT_APPLICABLE = {
    "server-sse-polling": (
        "a stream cannot be resumed: nothing is kept for a client that went away, it asks again; 2026-07-28 removed "
        "resumption, and the suite itself holds this scenario back"
    ),
    "tasks-lifecycle": _TASKS,
    "tasks-capability-negotiation": _TASKS,
    "tasks-wire-fields": _TASKS,
    "tasks-request-state-removal": _TASKS,
    "tasks-mrtr-input": _TASKS,
    "tasks-request-headers": _TASKS,
    "tasks-dispatch-and-envelope": _TASKS,
    "tasks-status-notifications": _TASKS,
    "tasks-required-task-error": _TASKS,
    "tasks-mrtr-composition": _TASKS,
    "sep-2640-skills-directory": _SKILLS,
    "sep-2640-skills-enumeration": _SKILLS,
    "sep-2640-skills-manifest": _SKILLS,
}

# A warning is a SHOULD that is not kept: scenario and check, and why.
WARNED = {
    ("sep-2164-resource-not-found", "sep-2164-error-code"): (
        "the resource contract's -32404 is sent in every revision; 2026-07-28 would rather have -32602"
    ),
}
