"""Result of a paper account since it was opened or reset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.analytics.portfolio.profit import total
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.services.account.portfolio import AccountService
from mcp_binance_server.services.account.profit import ProfitService
from mcp_binance_server.services.trading.answers import PaperResult
from mcp_binance_server.trading.journal.reading import JournalReader


@dataclass(frozen=True, slots=True)
class PaperPast:
    """Start of a paper account, and the symbols traded since then."""

    since_ms: int
    symbols: Sequence[Symbol]

    @classmethod
    async def of(cls, reader: JournalReader, account: str) -> "PaperPast":
        since_ms = await reader.reset_ms(account)
        return cls(since_ms, await reader.traded_since(account, since_ms))


async def paper_result(
    opening: Mapping[str, Decimal], past: PaperPast, accounts: AccountService, profits: ProfitService
) -> PaperResult:
    """Value a paper account at the last prices, and sum the profit of its trades.

    Raises:
        AppError: the account or a price could not be read.
    """
    valued = await accounts.valued()
    profit = await profits.of(valued, past.symbols, past.since_ms)
    gain = total(each.fifo for each in profit.assets)
    return PaperResult(
        opening=opening,
        value=valued.portfolio.total,
        realised=gain.realised,
        unrealised=gain.unrealised or Decimal(0),
        fees=profit.ledger.fees,
        unpriced=tuple(each.asset for each in valued.portfolio.excluded),
    )
