"""Tools for an account's holdings and their value."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from mcp_binance_server.analytics.portfolio.measures import AssetRisk
from mcp_binance_server.analytics.portfolio.profit import AccountProfit, AssetProfit, Gain, OpenStop, total
from mcp_binance_server.analytics.portfolio.report import PortfolioReport
from mcp_binance_server.analytics.portfolio.valuation import Holding
from mcp_binance_server.domain.account import AccountView, KeyRights
from mcp_binance_server.domain.money import round_to_places
from mcp_binance_server.services.account.portfolio import JudgedPortfolio
from mcp_binance_server.services.account.profit import MOST_PAIRS
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ListAnswer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import Row, omitted, optional
from mcp_binance_server.surface.views.markdown import exact, instant, next_step, share
from mcp_binance_server.surface.views.portfolio.holdings import (
    NO_HOLDINGS,
    account_page,
    coverage_words,
    holdings_page,
    shares_between,
    unmeasured,
    venue_notes,
)
from mcp_binance_server.surface.views.portfolio.profit import (
    NOT_KNOWN,
    average_price,
    break_even,
    cut_words,
    dollars,
    fee_words,
    profit_lines,
    profit_notes,
)

MOST_ASSETS = 1000
CENTS = 2
PRICE_PLACES = 8


class GetPortfolio(Arguments):
    limit: Annotated[int, Field(description="Maximum number of assets", ge=1, le=MOST_ASSETS)] = 50
    profit: Annotated[
        bool, Field(description="Also cost, profit, break-even, loss at open stops; weight 20 a pair")
    ] = False
    symbols: Annotated[list[str], Field(min_length=1, max_length=MOST_PAIRS)] | None = optional(
        "With profit: more pairs to read, e.g. of sold assets"
    )


class ValuedRow(Row):
    asset: str
    quantity: str
    price: str | None
    value: str | None
    share: str | None
    volatility: str | None
    risk_share: str | None
    priced_by: str | None


class Concentrated(Row):
    hhi: str
    level: str
    effective_assets: str
    effective_assets_by_risk: str | None


class LossBounds(Row):
    volatility: str | None
    var: str
    var_share: str
    var_range: str
    es: str
    es_share: str
    es_range: str
    level: str
    days: int
    worst_days: int


class PortfolioAnswer(ListAnswer):
    total_value: str = Field(description="USDT, like all values")
    stablecoin_share: str | None
    holdings: list[ValuedRow] = Field(description="Largest first; those without a price count in no value")
    concentration: Concentrated | None
    risk: LossBounds | None = Field(description="For a day, volatility for a year; ranges by resamples")
    not_measured: str | None = omitted()
    profit: dict[str, Any] | None = omitted("By FIFO and average cost; unexplained amounts are in no profit")
    missing: list[str]
    network: str
    host: str
    as_of: str


def portfolio_answer(
    judged: JudgedPortfolio, limit: int, profit: AccountProfit | None = None, asked: list[str] | None = None
) -> PortfolioAnswer:
    report, valued = judged.report, judged.valued
    held = (*report.portfolio.holdings, *report.portfolio.excluded)
    most = max(len(held), 0 if profit is None else len(profit.assets))
    risks = {each.asset: each for each in report.risk.assets}
    rows = [_row(each, risks.get(each.asset)) for each in held[:limit]]
    stable = report.portfolio.stablecoin_share
    return PortfolioAnswer(
        count=len(rows),
        limit=limit,
        more=_more(min(most, MOST_ASSETS), profit, asked) if limit < most else None,
        total_value=_cents(report.portfolio.total),
        stablecoin_share=None if stable is None else _percent(stable),
        holdings=rows,
        concentration=_concentration(report),
        risk=_risk(report),
        not_measured=unmeasured(report),
        profit=None if profit is None else _profit(profit, limit),
        missing=[*report.missing],
        network=valued.venue.network,
        host=valued.venue.host,
        as_of=instant(valued.as_of_ms),
        notes=[
            *([] if rows else [NO_HOLDINGS]),
            *([coverage_words()] if report.risk.tail_range is not None else []),
            *([] if profit is None else profit_notes(profit)),
            *venue_notes(valued.venue),
        ],
    )


def _more(limit: int, profit: AccountProfit | None, asked: list[str] | None) -> str:
    return next_step("get_portfolio", limit=limit, profit=None if profit is None else True, symbols=asked)


def _profit(profit: AccountProfit, limit: int) -> dict[str, Any]:
    ledger = profit.ledger
    said: dict[str, Any] = {
        "assets": [_profit_row(each, profit.fee) for each in profit.assets if each.is_counted][:limit],
        "unexplained": [_unexplained_row(each) for each in profit.assets if not each.is_explained][:limit],
        "all": {
            **_gain("fifo", total(each.fifo for each in profit.assets)),
            **_gain("average", total(each.average for each in profit.assets)),
        },
        "open_stops": [_stop_row(each) for each in profit.stops],
        "fees": _bare(ledger.fees),
        "fees_unvalued": fee_words(ledger.unvalued_fees),
        "trades_unpriced": ledger.unpriced_trades,
        "prices_not_read": profit.prices_left,
        "trades": profit.trades,
        "pairs_read": [*profit.pairs],
        "pairs_not_read": [*profit.not_read],
        "older_not_read": cut_words(profit),
        "calls": profit.calls,
        "weight": profit.weight,
    }
    if not said["assets"]:
        del said["all"]
    sometimes = (
        "open_stops",
        "fees_unvalued",
        "trades_unpriced",
        "prices_not_read",
        "pairs_not_read",
        "older_not_read",
    )
    return {name: value for name, value in said.items() if value or name not in sometimes}


def _stop_row(each: OpenStop) -> dict[str, str]:
    said = {
        "symbol": each.symbol,
        "quantity": exact(each.quantity),
        "stop": exact(each.trigger),
        "limit": exact(each.limit),
        "loss": None if each.loss is None else _bare(each.loss),
        "loss_from_now": None if each.fall is None else _bare(each.fall),
    }
    return {name: value for name, value in said.items() if value is not None}


def _profit_row(each: AssetProfit, fee: Decimal | None) -> dict[str, Any]:
    even = break_even(each, fee)
    return {
        "asset": each.asset,
        "quantity": exact(each.quantity),
        "lots": len(each.lots),
        **_gain("fifo", each.fifo),
        "average_price": None if each.average_price is None else _digits(average_price(each)),
        **({} if even == NOT_KNOWN else {"break_even": _digits(even)}),
        **_gain("average", each.average),
    }


def _unexplained_row(each: AssetProfit) -> dict[str, Any]:
    return {
        "asset": each.asset,
        "held": exact(each.held_unexplained),
        "sold": exact(each.sold_unexplained),
        "proceeds": _bare(each.proceeds_unexplained),
        "gone": exact(each.gone),
    }


def _gain(way: str, gain: Gain) -> dict[str, str | None]:
    return {
        f"{way}_cost": _bare(gain.cost),
        f"{way}_realised": _bare(gain.realised),
        f"{way}_unrealised": None if gain.unrealised is None else _bare(gain.unrealised),
    }


def _bare(value: Decimal) -> str:
    return _digits(dollars(value))


def _digits(money: str) -> str:
    return money.replace("$", "").replace(",", "")


def _row(holding: Holding, risk: AssetRisk | None) -> ValuedRow:
    annual = risk.volatility.annual if risk else None
    at_risk = risk.risk_share if risk else None
    return ValuedRow(
        asset=holding.asset,
        quantity=exact(holding.total),
        price=None if holding.price is None else exact(round_to_places(holding.price, PRICE_PLACES)),
        value=None if holding.value is None else _cents(holding.value),
        share=None if holding.weight is None else _percent(holding.weight),
        volatility=None if annual is None else _percent(annual),
        risk_share=None if at_risk is None else _percent(at_risk),
        priced_by=holding.route,
    )


def _concentration(report: PortfolioReport) -> Concentrated | None:
    spread = report.spread
    if spread.hhi is None or spread.effective is None or spread.level is None:
        return None
    by_risk = report.risk.effective
    return Concentrated(
        hhi=f"{spread.hhi:.3f}",
        level=spread.level,
        effective_assets=f"{spread.effective:.1f}",
        effective_assets_by_risk=None if by_risk is None else f"{by_risk:.1f}",
    )


def _risk(report: PortfolioReport) -> LossBounds | None:
    risk, tail, between = report.risk, report.risk.tail, report.risk.tail_range
    if tail.var is None or tail.es is None or risk.var_value is None or risk.es_value is None or between is None:
        return None
    return LossBounds(
        volatility=None if risk.sigma_annual is None else _percent(risk.sigma_annual),
        var=_cents(risk.var_value),
        var_share=_percent(tail.var),
        var_range=shares_between(between.var_low, between.var_high),
        es=_cents(risk.es_value),
        es_share=_percent(tail.es),
        es_range=shares_between(between.es_low, between.es_high),
        level=f"{tail.level}%",
        days=tail.n,
        worst_days=tail.k,
    )


def _cents(value: Decimal) -> str:
    return f"{round_to_places(value, CENTS):f}"


def _percent(ratio: Decimal | float) -> str:
    return share(float(ratio))


async def get_portfolio(context: Context, arguments: GetPortfolio) -> ToolAnswer:
    judged = await context.portfolio.judged()
    is_asked = arguments.profit or arguments.symbols
    profit = None
    if is_asked:
        profit = await context.profit.of(judged.valued, arguments.symbols or ())
        profit = await context.profit.with_stops(profit, judged.valued)
    answer = portfolio_answer(judged, arguments.limit, profit, arguments.symbols)
    below = [] if profit is None else profit_lines(profit, arguments.limit)
    return ToolAnswer(holdings_page(judged.report, judged.valued.venue, arguments.limit, answer.more, below), answer)


GET_PORTFOLIO = ToolSpec(
    name="get_portfolio",
    title="Portfolio value and risk",
    description=(
        "Value and risk of the account: holdings at the last price with share and volatility; concentration; loss of "
        "a bad day (VaR, ES) from 90 daily closes; with profit, also cost and profit. "
        "Use it for 'what is my portfolio worth'. "
        "Not for advice and what-ifs (get_analysis portfolio_risk), bare balances (get_account_info) or orders."
    ),
    arguments=GetPortfolio,
    answer=PortfolioAnswer,
    run=get_portfolio,
    read_only=True,
    toolset="account",
)


class BalanceRow(Row):
    asset: str
    free: str
    locked: str
    total: str


class GetAccountInfo(Arguments):
    limit: Annotated[int, Field(description="Maximum number of assets", ge=1, le=MOST_ASSETS)] = 100


class AccountAnswer(ListAnswer):
    account_type: str
    permissions: list[str]
    can_trade: bool
    can_withdraw: bool
    can_deposit: bool
    key_can_withdraw: bool | None = Field(description="The right of the key, not of the account; null: unknown")
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
        "Balances, rights and fees of the configured API key's account: non-zero balances (free, locked, total); "
        "rights to trade, withdraw and deposit; maker and taker fees. Use it for 'how much do I have' questions. "
        "Not for prices, orders or the value of a portfolio."
    ),
    arguments=GetAccountInfo,
    answer=AccountAnswer,
    run=get_account_info,
    read_only=True,
    toolset="account",
)
