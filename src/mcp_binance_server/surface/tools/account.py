"""Tools that read the account itself."""

from typing import Annotated

from pydantic import Field

from mcp_binance_server.domain.account import AccountView, KeyRights
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Arguments, ListAnswer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import Row
from mcp_binance_server.surface.views.account import NO_HOLDINGS, account_page, venue_notes
from mcp_binance_server.surface.views.markdown import instant
from mcp_binance_server.surface.views.paging import next_step

MOST_ASSETS = 1000


class BalanceRow(Row):
    asset: str
    free: str
    locked: str
    total: str


class GetAccountInfo(Arguments):
    limit: Annotated[int, Field(description="How many assets to list at most", ge=1, le=MOST_ASSETS)] = 100


class AccountAnswer(ListAnswer):
    account_type: str
    permissions: list[str]
    can_trade: bool
    can_withdraw: bool
    can_deposit: bool
    key_can_withdraw: bool | None = Field(description="The right of the key, not of the account; null: not told")
    key_ip_restricted: bool | None
    maker_commission: str | None
    taker_commission: str | None
    balances: list[BalanceRow]
    network: str
    host: str
    as_of: str


def account_answer(view: AccountView, rights: KeyRights | None, limit: int) -> AccountAnswer:
    account = view.account
    rows = [
        BalanceRow(asset=each.asset, free=f"{each.free:f}", locked=f"{each.locked:f}", total=f"{each.total:f}")
        for each in account.holdings[:limit]
    ]
    is_cut = len(rows) < len(account.holdings)
    return AccountAnswer(
        count=len(rows),
        limit=limit,
        more=next_step("get_account_info", limit=min(len(account.holdings), MOST_ASSETS)) if is_cut else None,
        account_type=account.kind,
        permissions=[*account.permissions],
        can_trade=account.can_trade,
        can_withdraw=account.can_withdraw,
        can_deposit=account.can_deposit,
        key_can_withdraw=rights.withdrawals if rights else None,
        key_ip_restricted=rights.ip_restricted if rights else None,
        maker_commission=f"{account.commission.maker:f}" if account.commission else None,
        taker_commission=f"{account.commission.taker:f}" if account.commission else None,
        balances=rows,
        network=view.venue.network,
        host=view.venue.host,
        as_of=instant(view.as_of_ms),
        notes=[*([] if rows else [NO_HOLDINGS]), *venue_notes(view.venue)],
    )


async def get_account_info(context: Context, arguments: GetAccountInfo) -> ToolAnswer:
    view, rights = await context.account.with_key_rights()
    answer = account_answer(view, rights, arguments.limit)
    page = account_page(view, rights, arguments.limit, answer.more)
    return ToolAnswer(page, answer, warnings=rights.dangers if rights else ())


GET_ACCOUNT_INFO = ToolSpec(
    name="get_account_info",
    title="Account",
    description=(
        "What the account of the configured API key holds, may do and pays: non-zero balances (free, locked, total), "
        "trading, withdrawal and deposit rights, maker and taker fees. Use it for 'how much do I have' questions. "
        "Not for prices, orders or the value of a portfolio."
    ),
    arguments=GetAccountInfo,
    answer=AccountAnswer,
    run=get_account_info,
    read_only=True,
    toolset="account",
)
