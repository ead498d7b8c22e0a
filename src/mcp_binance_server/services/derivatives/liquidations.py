"""Observed liquidations of one symbol. They are a sample, and the observation time is included."""

from dataclasses import dataclass

from mcp_binance_server.analytics.derivatives.liquidation_minutes import LiquidationSample, LiquidationTally, SideSample
from mcp_binance_server.analytics.derivatives.report import LiquidationReport, Listening
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.liquidations import Hearing, LiquidationWatch

NOTHING = LiquidationSample(None, None, 0, None)
LISTENING: dict[Hearing, Listening] = {
    "began": "just began to listen",
    "heard": "listening",
    "silent": "open but silent",
    "unreachable": "not reached",
}


@dataclass(frozen=True, slots=True)
class LiquidationService:
    """Liquidations from the stream. Without a stream, `setting` names the setting that is missing."""

    watch: LiquidationWatch | None
    setting: str | None = None

    async def heard(self, symbol: Symbol) -> LiquidationReport:
        """Return a symbol's liquidations of at most the last hour. The first call starts the stream."""
        if self.watch is None:
            return LiquidationReport("off", NOTHING, self.setting)
        told = await self.watch.ask()
        summary = told.summary
        if summary is None or not summary.observed_ms:
            return LiquidationReport(LISTENING[told.hearing], NOTHING)
        tally = summary.of(symbol)
        longs, shorts = _sides(tally)
        sample = LiquidationSample(longs, shorts, summary.observed_ms // 1000, summary.since_ms)
        return LiquidationReport(LISTENING[told.hearing], sample)


def _sides(tally: LiquidationTally) -> tuple[SideSample, SideSample]:
    return SideSample(tally.longs, tally.long_value), SideSample(tally.shorts, tally.short_value)
