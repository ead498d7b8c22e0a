"""Composition root: build all objects from the settings and connect them."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx2
from mcp.server.lowlevel import Server

from mcp_binance_server.channel import Channel
from mcp_binance_server.charts.chartimg.caller import ChartImgCaller
from mcp_binance_server.charts.chartimg.client import ChartImgClient
from mcp_binance_server.charts.chartimg.docs import DocumentationSource
from mcp_binance_server.charts.chartimg.limiter import Limiter, plan_pace
from mcp_binance_server.charts.chartimg.listings import Listings
from mcp_binance_server.charts.chartimg.plan_memory import PlanMemory
from mcp_binance_server.charts.pictures import Pictures, jpeg_encoder
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.clock import Clock
from mcp_binance_server.exchange.dialing import Dialer, NetworkDialer
from mcp_binance_server.exchange.endpoints import NETWORKS, Network
from mcp_binance_server.exchange.futures.side import FuturesSide
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.feeds.liquidations import LiquidationWatch
from mcp_binance_server.feeds.past_keeper import ScorePersistence
from mcp_binance_server.feeds.routes import ClockDoubt
from mcp_binance_server.feeds.score_store import DiskScoreStore, EngineScoreStore
from mcp_binance_server.feeds.snapshots import SNAPSHOT_LEVELS
from mcp_binance_server.guide.library import Library
from mcp_binance_server.services.account.minute_prices import MinutePrices
from mcp_binance_server.services.account.orders import OrdersService
from mcp_binance_server.services.account.portfolio import AccountService, PortfolioService
from mcp_binance_server.services.account.preview import PreviewService
from mcp_binance_server.services.account.profit import ProfitService
from mcp_binance_server.services.analysis.anomalies import AnomalyService
from mcp_binance_server.services.analysis.flow import OrderFlowService
from mcp_binance_server.services.analysis.flow_scores import FlowScoreCache
from mcp_binance_server.services.analysis.liquidity import LiquidityService, VolumeProfileService
from mcp_binance_server.services.analysis.microstructure import MarketHealthService, MicrostructureService
from mcp_binance_server.services.analysis.size import SizeService
from mcp_binance_server.services.analysis.trend import AnalysisService
from mcp_binance_server.services.charts.bars import AT_A_TIME as BARS_AT_A_TIME
from mcp_binance_server.services.charts.bars import ChartBars
from mcp_binance_server.services.charts.candle_cache import CandleCache
from mcp_binance_server.services.charts.configuration import ChartLanguageService, ChartValidationService
from mcp_binance_server.services.charts.facts import ChartFactsService
from mcp_binance_server.services.charts.local import AT_A_TIME, LocalCharts
from mcp_binance_server.services.charts.remote import RemoteCharts
from mcp_binance_server.services.charts.service import ChartingService
from mcp_binance_server.services.derivatives.liquidations import LiquidationService
from mcp_binance_server.services.derivatives.service import DerivativesService
from mcp_binance_server.services.guide import GuideService
from mcp_binance_server.services.live.learning import LearningService
from mcp_binance_server.services.live.service import LiveService, OrderBookService
from mcp_binance_server.services.live.updates import UpdateService
from mcp_binance_server.services.market.board import BoardService
from mcp_binance_server.services.market.overview import OverviewService
from mcp_binance_server.services.market.scan import ScanService
from mcp_binance_server.services.market.scan_columns import ColumnStore
from mcp_binance_server.services.market.service import MarketService, Streamed
from mcp_binance_server.settings import Settings
from mcp_binance_server.startup_checks import (
    is_alone,
    missing_for_futures,
    round_key_of,
    shows_live_chart,
    streams_markets,
    thresholds_of,
)
from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.state.fair_turns import FairTurns
from mcp_binance_server.state.flight import Flights
from mcp_binance_server.state.shared_use import FleetUse
from mcp_binance_server.surface.answers import SharedAnswers
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.server import build_server
from mcp_binance_server.telemetry.logs import flush_spans
from mcp_binance_server.upstream import ATTEMPT_SECS, Upstream, opened_upstream

if TYPE_CHECKING:
    from mcp_binance_server.trading_assembly.side import TradingSide

# Timeout of a list from chart-img.com. An image gets three times as long, a stored image six times.
CHART_SECS = 10.0


@dataclass(frozen=True, slots=True)
class App:
    """A running server. Tests and commands use its parts."""

    server: Server[Any]
    dispatcher: Dispatcher
    engine: StateEngine
    clock: Clock
    network: Network
    market: MarketService
    analysis: AnalysisService
    account: AccountClient
    context: Context

    @property
    def futures(self) -> FuturesSide | None:
        return self.context.screener.boards.futures


@asynccontextmanager
async def running_app(
    settings: Settings,
    *,
    clock: Clock | None = None,
    network: Network | None = None,
    networks: Mapping[str, Network] = NETWORKS,
    transport: httpx2.AsyncBaseTransport | None = None,
    dialer: Dialer | None = None,
    attempt_secs: float = ATTEMPT_SECS,
    callers_bring_keys: bool = False,
    preload: bool = False,
    examines_key: bool = True,
) -> AsyncGenerator[App]:
    """Build the server from settings, and close it on exit.

    No request is sent at the start unless `preload` is set. `preload` starts three background tasks. The first loads
    the symbol list, which most questions need. The second checks the key's permissions and warns if the key can
    withdraw. The third streams the symbols that are configured for learning. Of several processes, only one runs the
    second and the third task.

    Raises:
        SettingsError: the private key or the address of the state cannot be used, or a threshold is wrong.
    """
    async with (
        opened_upstream(
            settings,
            clock=clock,
            network=network,
            networks=networks,
            transport=transport,
            attempt_secs=attempt_secs,
            callers_bring_keys=callers_bring_keys,
        ) as upstream,
        app_on(upstream, settings, transport=transport, dialer=dialer, learns=preload) as app,
    ):
        if preload:
            upstream.directory.begin()
            if examines_key:
                upstream.examine_key()
        yield app


@asynccontextmanager
async def app_on(
    upstream: Upstream,
    settings: Settings,
    *,
    transport: httpx2.AsyncBaseTransport | None = None,
    dialer: Dialer | None = None,
    learns: bool = True,
) -> AsyncGenerator[App]:
    """Build the server on an open connection to the exchange. `learns=False` disables background learning.

    Raises:
        SettingsError: a threshold is wrong.
    """
    clock, engine, client = upstream.clock, upstream.engine, upstream.client
    caller, network, time = upstream.caller, upstream.caller.network, upstream.caller.time
    thresholds, dialer = thresholds_of(settings), dialer or NetworkDialer(settings.proxies)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(flush_spans, settings.otlp_url)
        hub = _hub(settings, client, dialer, engine)
        if hub is not None:
            if hub.keeper is not None:
                await stack.enter_async_context(hub.keeper.running())
            await stack.enter_async_context(hub.running())
        trading = await _trading(stack, settings, upstream, hub, dialer)
        streamed = Streamed(hub, network, time, thresholds)
        market = MarketService(client, upstream.directory, time, streamed)
        # Build the services without an account. Code that forgets to set the caller then has no account to show.
        account = AccountClient(caller, None) if trading is None else trading.reads
        accounts, preview = AccountService(account, client), PreviewService(client, market.directory, account)
        analysis = AnalysisService(market, client, SizeService(client, account, thresholds), thresholds)
        live = LiveService(market, client, time, network, hub, thresholds)
        if learns:
            await stack.enter_async_context(LearningService(live, engine, settings.learn_symbols).running())
        derivatives = await _derivatives(stack, settings, upstream, market, dialer, serves=learns)
        profiles = VolumeProfileService(market, client, thresholds)
        chart_channel = Channel(deadline_secs=CHART_SECS, transport=transport, proxies=settings.proxies)
        stack.push_async_callback(chart_channel.close)
        charts = _chart_client(settings, chart_channel, engine, clock)
        docs = DocumentationSource(settings.chart_docs_url, chart_channel, engine, clock)
        remote = RemoteCharts(charts, time, Flights(clock), docs.catalogue)
        local = LocalCharts(market, Flights(clock), FairTurns(clock, at_a_time=AT_A_TIME))
        fleet_use = None if is_alone(settings) else await stack.enter_async_context(FleetUse(engine, clock).running())
        if fleet_use is not None:
            fleet_use.share("drawings", local.turns.elsewhere, local.turns.used_here)
        stack.push_async_callback(remote.flights.close)
        stack.push_async_callback(local.flights.close)
        language = ChartLanguageService(market.directory, time, charts.plans, Flights(clock), docs.catalogue)
        stack.push_async_callback(language.flights.close)
        guides = GuideService(Library(clock, settings.guide_config), clock, client.pace)
        stack.push_async_callback(guides.close)
        boards = _boards(upstream, settings)
        stack.push_async_callback(boards.flights.close)
        screener = _screener(upstream, boards)
        stack.push_async_callback(screener.flights.close)
        jpeg, bars = jpeg_encoder(), _chart_bars(stack, local, docs, fleet_use)
        anomalies, health = AnomalyService(live), MarketHealthService(live)
        context = Context(
            market=market,
            analysis=analysis,
            account=accounts,
            orders=OrdersService(account, market.directory, time, None if trading is None else trading.market_orders),
            preview=preview,
            trading=None if trading is None else trading.service(preview),
            portfolio=PortfolioService(accounts, client, time, thresholds),
            profit=ProfitService(account, market.directory, MinutePrices(client, time)),
            live=live,
            order_books=OrderBookService(live),
            profiles=profiles,
            order_flow=OrderFlowService(live, client, profiles, FlowScoreCache(client)),
            liquidity=LiquidityService(live, client),
            anomalies=anomalies,
            health=health,
            microstructure=MicrostructureService(live, client, profiles, anomalies, health),
            chart_facts=ChartFactsService(docs, Listings(charts, engine, clock), market.directory, time),
            chart_validation=ChartValidationService(
                market.directory, time, charts.plans, draws_jpeg=jpeg is not None, catalogue=docs.catalogue
            ),
            chart_language=language,
            derivatives=derivatives,
            charting=ChartingService(
                remote, local, Pictures(engine), jpeg, bars, sends_links=settings.chart_images == "link"
            ),
            chart_bars=bars,
            guides=guides,
            screener=screener,
            overview=OverviewService(boards, screener),
            updates=await stack.enter_async_context(UpdateService(live).running()),
            pace=client.pace,
            fleet_use=fleet_use,
        )
        shown = CATALOGUE.only(
            frozenset(settings.toolsets),
            live=settings.orderbook_analytics,
            chart_app=shows_live_chart(settings),
            trading=settings.trading != "off",
        )
        shared = SharedAnswers(clock)
        stack.push_async_callback(shared.flights.close)
        dispatcher = Dispatcher(shown, context, upstream.principal, shared=shared)
        own, rounds = AccountClient(caller, upstream.principal), round_key_of(settings, "rounds")
        yield App(build_server(dispatcher, rounds), dispatcher, engine, clock, network, market, analysis, own, context)


async def _trading(
    stack: AsyncExitStack, settings: Settings, upstream: Upstream, hub: Hub | None, dialer: Dialer
) -> "TradingSide | None":
    if settings.trading == "off":
        return None
    if settings.trading == "paper":
        from mcp_binance_server.trading_assembly.paper import opened_paper  # noqa: PLC0415 - imported only for trading

        return await stack.enter_async_context(opened_paper(settings, upstream, hub))
    from mcp_binance_server.trading_assembly.spot import opened_spot  # noqa: PLC0415 - imported only for trading

    return await stack.enter_async_context(opened_spot(settings, upstream, hub, dialer))


def _chart_bars(
    stack: AsyncExitStack, local: LocalCharts, docs: DocumentationSource, fleet_use: FleetUse | None
) -> ChartBars:
    client = local.market.client
    clock = client.caller.clock
    turns = FairTurns(clock, at_a_time=BARS_AT_A_TIME)
    bars = ChartBars(local, docs.catalogue, CandleCache(client, clock), Flights(clock), turns)
    if fleet_use is not None:
        fleet_use.share("bars", turns.elsewhere, turns.used_here)
    stack.push_async_callback(bars.candles.flights.close)
    stack.push_async_callback(bars.flights.close)
    return bars


def _boards(upstream: Upstream, settings: Settings) -> BoardService:
    return BoardService(
        upstream.client,
        upstream.directory,
        upstream.futures,
        missing_for_futures(settings, upstream.caller.network) or "",
        upstream.engine,
        upstream.clock,
        settings.board_fresh_secs * 1000,
    )


def _screener(upstream: Upstream, boards: BoardService) -> ScanService:
    futures = None if upstream.futures is None else upstream.futures.client
    return ScanService(boards, ColumnStore(upstream.client, futures, upstream.scans, upstream.engine), upstream.clock)


def _hub(settings: Settings, client: SpotClient, dialer: Dialer, engine: StateEngine) -> Hub | None:
    caller = client.caller
    if not streams_markets(settings, caller.network):
        return None

    async def learn_time(doubt: ClockDoubt) -> None:
        if doubt == "refuted":
            caller.time.forget()
        if caller.time.is_rough:
            await caller.sync_time()

    hub = Hub(
        url=f"{caller.network.stream_url}/stream",
        dialer=dialer,
        fetch=lambda symbol: client.snapshot(symbol, SNAPSHOT_LEVELS),
        time=caller.time,
        clock=caller.clock,
        most=settings.feed_symbols,
        linger_ms=settings.feed_linger_secs * 1000,
        learn_time=learn_time,
    )
    market = caller.network.stream_url or ""
    if is_alone(settings):
        if settings.state_dir is not None and not caller.network.simulated:
            hub.keeper = ScorePersistence(DiskScoreStore(settings.state_dir, market, caller.clock), caller.clock)
        return hub
    from mcp_binance_server.feeds.fleet.source import Fleet  # noqa: PLC0415 - imported only for a fleet

    fleet = Fleet(engine, caller.clock, caller.time, uuid4().hex)
    joined = fleet.joined_by(hub)
    joined.keeper = ScorePersistence(EngineScoreStore(engine, market), caller.clock, fleet.leads)
    return joined


async def _derivatives(
    stack: AsyncExitStack,
    settings: Settings,
    upstream: Upstream,
    market: MarketService,
    dialer: Dialer,
    *,
    serves: bool,
) -> DerivativesService:
    side, network = upstream.futures, upstream.caller.network
    if side is None:
        return DerivativesService(None, market, LiquidationService(None), missing_for_futures(settings, network) or "")
    if settings.liquidations == "off":
        liquidations = LiquidationService(None, "MCP_BINANCE_LIQUIDATIONS")
    elif network.futures_stream_url is None:
        liquidations = LiquidationService(None, "BINANCE_FUTURES_STREAM_URL")
    else:
        watch = LiquidationWatch(
            stream_url=network.futures_stream_url,
            dialer=dialer,
            engine=upstream.engine,
            time=side.client.caller.time,
            clock=upstream.clock,
            listens=settings.liquidations if serves else "asked",
        )
        liquidations = LiquidationService(await stack.enter_async_context(watch.running()))
    return DerivativesService(side, market, liquidations)


def _chart_client(settings: Settings, channel: Channel, engine: StateEngine, clock: Clock) -> ChartImgClient:
    key = settings.chart_key.get_secret_value().strip() if settings.chart_key else None
    plans = PlanMemory(clock, PLANS[settings.chart_plan] if settings.chart_plan else None, has_key=key is not None)
    per_second, per_day = settings.chart_rps, settings.chart_daily_limit
    limiter = Limiter(clock, engine, lambda: plan_pace(plans, per_second=per_second, per_day=per_day))
    return ChartImgClient(ChartImgCaller(settings.chart_url, key, channel, limiter, clock), plans)
