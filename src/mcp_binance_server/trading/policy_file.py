"""The operator's file of limits, as it lies on this machine: whoever else can write it could loosen them."""

import stat
import sys
from pathlib import Path

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.trading.approvals import is_public_key
from mcp_binance_server.trading.judgement.policy import Policy, PolicyProblem, read_policy

VARIABLE = "MCP_BINANCE_TRADING_POLICY"


def policy_at(path: Path | None) -> Policy:
    """Read the limits for orders; without a file there are those that every account has.

    Raises:
        SettingsError: the file cannot be read or used, or others can change it.
    """
    if path is None:
        return Policy()
    try:
        data = path.read_bytes()
        is_open = sys.platform != "win32" and bool(path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    except OSError as error:
        raise SettingsError(problems=(f"{VARIABLE}: {path}: {error.strerror or 'it cannot be read'}",)) from None
    if is_open:
        raise SettingsError(problems=(f"{VARIABLE}: others can change your limits: chmod go-w {path}",))
    try:
        policy = read_policy(data)
    except PolicyProblem as problem:
        raise SettingsError(problems=(f"{VARIABLE}: {path}: {problem}",)) from None
    approver = policy.confirm.approver
    if approver is not None and not is_public_key(approver):
        problem = "confirm.approver: it is no public key as `approve --new` prints it"
        raise SettingsError(problems=(f"{VARIABLE}: {path}: {problem}",))
    return policy
