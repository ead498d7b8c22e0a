"""The one endpoint outside of /api/v3: what a key may do."""

from mcp_binance_server.simulator.endpoints import Call, Endpoint, flat
from mcp_binance_server.simulator.params import SIGNING

CREATED_MS = 1_623_840_271_000


def restrictions(call: Call) -> object:
    """Answer apiRestrictions."""
    rights = call.exchange.rights
    return {
        "ipRestrict": rights.ip_restricted,
        "createTime": CREATED_MS,
        "enableReading": rights.reading,
        "enableWithdrawals": rights.withdrawals,
        "enableInternalTransfer": False,
        "enableMargin": False,
        "enableFutures": False,
        "permitsUniversalTransfer": False,
        "enableVanillaOptions": False,
        "enableFixApiTrade": False,
        "enableFixReadOnly": False,
        "enableSpotAndMarginTrading": rights.trading,
        "enablePortfolioMarginTrading": False,
    }


RIGHTS = (Endpoint("/sapi/v1/account/apiRestrictions", SIGNING, flat(1), restrictions, signed=True),)
