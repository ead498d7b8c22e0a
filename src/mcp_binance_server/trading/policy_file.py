"""Policy file of the operator on this machine. Only its owner may write it, because a writer can raise the limits."""

import os
import stat
import sys
from pathlib import Path

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.trading.approvals import is_public_key
from mcp_binance_server.trading.judgement.policy import Policy, read_policy
from mcp_binance_server.trading.judgement.policy_lines import PolicyProblem, step

VARIABLE = "MCP_BINANCE_TRADING_POLICY"
ROOT = 0


def policy_at(path: Path | None) -> Policy:
    """Read the operator's limits for orders. Without a file, return the default limits.

    Raises:
        SettingsError: the file cannot be read or used, or other users can change it.
    """
    if path is None:
        return Policy()
    try:
        with path.open("rb") as file:
            about, data = os.fstat(file.fileno()), file.read()
        folder = path.parent.stat()
    except OSError as error:
        raise SettingsError(problems=(f"{VARIABLE}: {path}: {error.strerror or 'it cannot be read'}",)) from None
    if sys.platform != "win32" and (whose := _changeable_by_others(path, about, folder)):
        raise SettingsError(problems=(f"{VARIABLE}: other users can change your limits: {whose}",))
    try:
        policy = read_policy(data)
    except PolicyProblem as problem:
        raise SettingsError(problems=(f"{VARIABLE}: {path}: {problem}",)) from None
    approvers = {
        "confirm": policy.confirm,
        **{f"keys.{step(name)}.confirm": own.confirm for name, own in policy.keys.items()},
    }
    for at, confirm in approvers.items():
        if confirm.approver is not None and not is_public_key(confirm.approver):
            problem = f"{at}.approver: not a public key as printed by `approve --new`"
            raise SettingsError(problems=(f"{VARIABLE}: {path}: {problem}",))
    return policy


def _changeable_by_others(path: Path, about: os.stat_result, folder: os.stat_result) -> str:
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"chmod go-w {path}"
    if about.st_uid not in (os.geteuid(), ROOT):
        return f"{path} belongs to another user (number {about.st_uid}): chown it to the user of this server"
    # A user with write access to the folder can replace the file.
    if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
        return f"chmod o-w {path.parent}"
    return ""
