"""Requests in words of our own, as a trader types them, and the chart each of them means."""

from charts.language.talk import Heard

NO_VOLUME = {"override": {"showVolume": False}}

OWN = {
    "ETHUSDT 4h EMA20 EMA50 EMA200 dark": Heard(
        "BINANCE:ETHUSDT",
        "4h",
        studies=("MovingAverageExponential 20", "MovingAverageExponential 50", "MovingAverageExponential 200"),
    ),
    "can you pull up solana on the 15 minute with vwap and volume please": Heard(
        "BINANCE:SOLUSDT", "15m", studies=("VWAP", "Volume")
    ),
    "give me a weekly bitcoin chart with the 200 week MA on a log scale": Heard(
        "BINANCE:BTCUSDT", "1W", studies=("MA 200",), looks={"scale": "logarithmic"}
    ),
    "btc 1d rsi(14) macd(12,26,9)": Heard("BINANCE:BTCUSDT", "1D", studies=("RSI 14", "MACD 12 26 9")),
    "Show AVAX last 2 weeks with supertrend": Heard(
        "BINANCE:AVAXUSDT", "4h", range="14D", studies=("SuperTrend 10 3",)
    ),
    "eth/btc 4h bollinger 20 2": Heard("BINANCE:ETHBTC", "4h", studies=("BollingerBands 20 2",)),
    "xrp 30m stoch rsi": Heard("BINANCE:XRPUSDT", "30m", studies=("StochasticRSI 14 14 3 3",)),
    "Bitcoin, 1 hour candles, last 3 days, RSI and volume, light theme": Heard(
        "BINANCE:BTCUSDT", "1h", range="3D", studies=("RSI 14", "Volume"), looks={"theme": "light"}
    ),
    "doge 5m no volume": Heard("BINANCE:DOGEUSDT", "5m", looks=NO_VOLUME),
    "BTC 4h with support at 62k and resistance at 71.5k": Heard(
        "BINANCE:BTCUSDT", "4h", drawings=("horizontalLine 62000 support", "horizontalLine 71500 resistance")
    ),
    "sol daily with fib retracement": Heard("BINANCE:SOLUSDT", "1D", drawings=("fibRetracement last",)),
    "long ETH at 3,150 tp 3,400 sl 3,050 on the 1h": Heard(
        "BINANCE:ETHUSDT", "1h", drawings=("longPosition 3150 3400 3050",)
    ),
    "Short BTC from 98k target 92k stop 101k, 4h": Heard(
        "BINANCE:BTCUSDT", "4h", drawings=("shortPosition 98000 92000 101000",)
    ),
    "nvidia daily with 50 and 200 day moving averages": Heard("NASDAQ:NVDA", "1D", studies=("MA 50", "MA 200")),
    "eurusd 15m london session": Heard("FX:EURUSD", "15m", warnings=frozenset({"unrecognized_text"})),
    "gbp/usd weekly": Heard("FX:GBPUSD", "1W"),
    "usd/jpy daily ichimoku": Heard("FX:USDJPY", "1D", studies=("IchimokuCloud 9 26 52 26",)),
    "gold vs dollar 1 month": Heard("OANDA:XAUUSD", "4h", range="1M"),
    "brent weekly": Heard("TVC:UKOIL", "1W"),
    "nikkei daily": Heard("TVC:NI225", "1D"),
    "bnb in eur daily": Heard("BINANCE:BNBEUR", "1D", warnings=frozenset({"symbol_unverified"})),
    "ada on kraken 1h": Heard("KRAKEN:ADAUSD", "1h"),
    "bitstamp btc 4h": Heard("BITSTAMP:BTCUSD", "4h"),
    "link token 1h rsi": Heard("BINANCE:LINKUSDT", "1h", studies=("RSI 14",)),
    "SHOW ME THE BTC CHART": Heard("BINANCE:BTCUSDT", "1D"),
    "PLEASE SHOW ETH 4H WITH RSI AND MACD": Heard("BINANCE:ETHUSDT", "4h", studies=("RSI 14", "MACD 12 26 9")),
    "what is btc doing today?": Heard("BINANCE:BTCUSDT", "1h", range="1D"),
    "how did ethereum do last week": Heard("BINANCE:ETHUSDT", "1h", range="7D"),
    "btc price action since the start of november": Heard(
        "BINANCE:BTCUSDT", "4h", range=("2026-11-01T00:00:00Z", None)
    ),
    "eth since 2025-06-01 daily": Heard("BINANCE:ETHUSDT", "1D", range=("2025-06-01T00:00:00Z", None)),
    "btc from 1 jan 2025 to 31 mar 2025": Heard(
        "BINANCE:BTCUSDT", "1D", range=("2025-01-01T00:00:00Z", "2025-03-31T23:59:59Z")
    ),
    "SOL last 6 hours 1m": Heard("BINANCE:SOLUSDT", "1m", range=("2026-11-14T16:00:00Z", None)),
    "btc past 48 hours": Heard("BINANCE:BTCUSDT", "1h", range="2D"),
    "btc 24h": Heard("BINANCE:BTCUSDT", "1h", range="1D"),
    "BTC 2w": Heard("BINANCE:BTCUSDT", "4h", range="14D"),
    "btc chart with ema 9/21 cross": Heard(
        "BINANCE:BTCUSDT", "1D", studies=("MovingAverageExponential 9", "MovingAverageExponential 21")
    ),
    "ema 12 and ema 26 on ltc 2h": Heard(
        "BINANCE:LTCUSDT", "2h", studies=("MovingAverageExponential 12", "MovingAverageExponential 26")
    ),
    "20 sma, 50 sma, 200 sma on tesla": Heard("NASDAQ:TSLA", "1D", studies=("MA 20", "MA 50", "MA 200")),
    "btc with 20 50 100 200 ema": Heard(
        "BINANCE:BTCUSDT",
        "1D",
        studies=(
            "MovingAverageExponential 20",
            "MovingAverageExponential 50",
            "MovingAverageExponential 100",
            "MovingAverageExponential 200",
        ),
    ),
    "trx rsi 7 80/20": Heard("BINANCE:TRXUSDT", "1D", studies=("RSI 7 80 20",)),
    "bitcoin heikin-ashi 4h no grid no legend": Heard(
        "BINANCE:BTCUSDT",
        "4h",
        looks={"style": "heikinAshi", "override": {"showVertGrid": False, "showHorzGrid": False, "showLegend": False}},
    ),
    "ETH 1h hollow candlesticks white background 1600x900": Heard(
        "BINANCE:ETHUSDT", "1h", looks={"theme": "light", "style": "hollowCandle", "width": 1600, "height": 900}
    ),
    "btc 1h, percentage scale, 720p": Heard(
        "BINANCE:BTCUSDT", "1h", looks={"width": 1280, "height": 720, "scale": "percent"}
    ),
    "tsla premarket 5m": Heard("NASDAQ:TSLA", "5m", looks={"session": "extended"}),
    "eth 4h in UTC": Heard("BINANCE:ETHUSDT", "4h"),
    "btc 4h timezone Europe/London": Heard("BINANCE:BTCUSDT", "4h", looks={"timezone": "Europe/London"}),
    "btc 3 day chart": Heard("BINANCE:BTCUSDT", "1h", range="3D"),
    "btc 6 month chart": Heard("BINANCE:BTCUSDT", "1D", range="6M"),
    "btc 1 week": Heard("BINANCE:BTCUSDT", "1h", range="7D", warnings=frozenset({"ambiguous_range"})),
    "btc 1 day chart": Heard("BINANCE:BTCUSDT", "1D"),
    "btc q1 2026": Heard("BINANCE:BTCUSDT", "1D", range=("2026-01-01T00:00:00Z", "2026-03-31T23:59:59Z")),
    "btc in october": Heard("BINANCE:BTCUSDT", "4h", range=("2026-10-01T00:00:00Z", "2026-10-31T23:59:59Z")),
    "eth on 5 november": Heard("BINANCE:ETHUSDT", "15m", range=("2026-11-05T00:00:00Z", "2026-11-05T23:59:59Z")),
    "btc yesterday 5m": Heard("BINANCE:BTCUSDT", "5m", range=("2026-11-13T00:00:00Z", "2026-11-13T23:59:59Z")),
    "btc max history monthly": Heard("BINANCE:BTCUSDT", "1M", range="ALL"),
    "hbar 4h": Heard("BINANCE:HBARUSDT", "4h", warnings=frozenset({"symbol_unverified"})),
    "monero daily": Heard("BINANCE:XMRUSDT", "1D", warnings=frozenset({"symbol_unverified"})),
    "compare sol vs eth last month": Heard(
        "BINANCE:SOLUSDT BINANCE:ETHUSDT", "4h", range="1M", looks={"compare": ["BINANCE:ETHUSDT"]}
    ),
    "btc, eth and sol daily": Heard(
        "BINANCE:BTCUSDT BINANCE:ETHUSDT BINANCE:SOLUSDT", "1D", warnings=frozenset({"multiple_symbols"})
    ),
    "btcusd 1h": Heard("BINANCE:BTCUSDT", "1h", warnings=frozenset({"symbol_assumed"})),
    "BTC-PERP 1h": Heard("BINANCE:BTCUSDT.P", "1h"),
    "ethusdt perp funding rate": Heard("BINANCE:ETHUSDT.P", "1D", warnings=frozenset({"unknown_indicator"})),
    "btc open interest 1h": Heard("BINANCE:BTCUSDT", "1h", warnings=frozenset({"unknown_indicator"})),
    "btc 1h with rsi instead of macd": Heard("BINANCE:BTCUSDT", "1h", studies=("RSI 14",)),
    "btc 4h ema 20, actually ema 50": Heard("BINANCE:BTCUSDT", "4h", studies=("MovingAverageExponential 50",)),
    "eth 1h, make that 4h": Heard("BINANCE:ETHUSDT", "4h"),
    "remove the volume from btc 1h with volume and rsi": Heard("BINANCE:BTCUSDT", "1h", studies=("RSI 14",)),
    "keltner channels (20, 2) on btc 4h": Heard("BINANCE:BTCUSDT", "4h", studies=("KeltnerChannels 20 2",)),
    "Donchian 20 on gold weekly": Heard(
        "OANDA:XAUUSD", "1W", studies=("DonchianChannels 20",), warnings=frozenset({"symbol_assumed"})
    ),
    "psar and adx for dot 1d": Heard(
        "BINANCE:DOTUSDT", "1D", studies=("ParabolicSAR 0.02 0.02 0.2", "AverageDirectionalIndex 14 14")
    ),
    "btc williams r 14": Heard("BINANCE:BTCUSDT", "1D", studies=("WilliamsPercentR 14",)),
    "obv cmf mfi for eth": Heard(
        "BINANCE:ETHUSDT", "1D", studies=("OnBalanceVolume", "ChaikinMoneyFlow 20", "MoneyFlowIndex 14")
    ),
    "vwma 20 and hma 55 ada 1h": Heard("BINANCE:ADAUSDT", "1h", studies=("VWMA 20", "HullMovingAverage 55")),
    "btc standard deviation 20": Heard("BINANCE:BTCUSDT", "1D", studies=("StandardDeviation 20 1",)),
    "atr 14 bnb": Heard("BINANCE:BNBUSDT", "1D", studies=("AverageTrueRange 14",)),
    "alma 9 0.85 6 btc": Heard("BINANCE:BTCUSDT", "1D", studies=("ArnaudLegouxMovingAverage 9 0.85 6",)),
    "btc bollinger bands 20 with 2.5 standard deviations": Heard(
        "BINANCE:BTCUSDT", "1D", studies=("BollingerBands 20 2.5",)
    ),
    "macd fast 8 slow 21 signal 5 for sol": Heard("BINANCE:SOLUSDT", "1D", studies=("MACD 8 21 5",)),
    "show me key levels on btc": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"drawing_needs_points"})),
    "btc 1hour": Heard("BINANCE:BTCUSDT", "1h"),
    "btc 1hr chart w/ rsi": Heard("BINANCE:BTCUSDT", "1h", studies=("RSI 14",)),
    "ETHBTC weekly line chart": Heard("BINANCE:ETHBTC", "1W", looks={"style": "line"}),
    "shiba inu 15 minutes": Heard("BINANCE:SHIBUSDT", "15m"),
    "pepe 1h last 3 days": Heard("BINANCE:PEPEUSDT", "1h", range="3D"),
    "btc above 100k 1d": Heard("BINANCE:BTCUSDT", "1D"),
    "ethereum classic daily": Heard("BINANCE:ETCUSDT", "1D"),
    "bitcoin cash 4h": Heard("BINANCE:BCHUSDT", "4h"),
    "btc since covid crash": Heard(
        "BINANCE:BTCUSDT", "1W", range=("2020-03-12T00:00:00Z", None), warnings=frozenset({"event_date_assumed"})
    ),
    "dxy weekly 5 years": Heard("TVC:DXY", "1W", range="5Y"),
    "10 year yield daily": Heard("TVC:US10Y", "1D"),
    "ES1! 15m": Heard("CME_MINI:ES1!", "15m"),
    "total3 daily": Heard("CRYPTOCAP:TOTAL3", "1D"),
    "usdt.d 4h": Heard("CRYPTOCAP:USDT.D", "4h"),
    "btc.d weekly": Heard("CRYPTOCAP:BTC.D", "1W"),
    "last 200 bars of eth 15m": Heard("BINANCE:ETHUSDT", "15m", range=("2026-11-12T20:00:00Z", None)),
    "give me 300 candles of btc 1h": Heard("BINANCE:BTCUSDT", "1h", range=("2026-11-02T10:00:00Z", None)),
    "btc 15": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"unrecognized_text"})),
    "btc on the 4": Heard("BINANCE:BTCUSDT", "4h", warnings=frozenset({"interval_assumed"})),
    "draw a line at 65k on btc 4h": Heard("BINANCE:BTCUSDT", "4h", drawings=("horizontalLine 65000",)),
    "vertical line on nov 5 btc daily": Heard("BINANCE:BTCUSDT", "1D", drawings=("verticalLine 2026-11-05T00:00:00Z",)),
    "btc 4h rsi below 30?": Heard("BINANCE:BTCUSDT", "4h", studies=("RSI 14",)),
    "BTC H4 RSI MACD BB": Heard("BINANCE:BTCUSDT", "4h", studies=("RSI 14", "MACD 12 26 9", "BollingerBands 20 2")),
    "xauusd h1": Heard("OANDA:XAUUSD", "1h"),
    "price of solana in btc last 30 days": Heard("BINANCE:SOLBTC", "4h", range="1M"),
    "ETH vs SOL": Heard("BINANCE:ETHUSDT BINANCE:SOLUSDT", "1D", looks={"compare": ["BINANCE:SOLUSDT"]}),
    "compare btc against gold this year": Heard(
        "BINANCE:BTCUSDT OANDA:XAUUSD", "1D", range="YTD", warnings=frozenset({"multiple_symbols", "symbol_assumed"})
    ),
    "btc weekly 2021 to 2023": Heard("BINANCE:BTCUSDT", "1W", range=("2021-01-01T00:00:00Z", "2023-12-31T23:59:59Z")),
    "btc 2023": Heard("BINANCE:BTCUSDT", "1D", range=("2023-01-01T00:00:00Z", "2023-12-31T23:59:59Z")),
    "near 4h": Heard("BINANCE:NEARUSDT", "4h", warnings=frozenset({"ambiguous_token"})),
    "NEAR 4h": Heard("BINANCE:NEARUSDT", "4h"),
    "gas 1h": Heard("BINANCE:GASUSDT", "1h", warnings=frozenset({"ambiguous_token"})),
    "ONE 1h": Heard("BINANCE:ONEUSDT", "1h"),
    "Could you please show me what Ethereum has been doing over the past 10 days, with a 21-period EMA?": Heard(
        "BINANCE:ETHUSDT", "4h", range="10D", studies=("MovingAverageExponential 21",)
    ),
    "i want to see dogecoin 1h w/ bollinger bands and the rsi, dark mode pls": Heard(
        "BINANCE:DOGEUSDT", "1h", studies=("BollingerBands 20 2", "RSI 14")
    ),
    "BTC/USDT:4h RSI MACD": Heard("BINANCE:BTCUSDT", "4h", studies=("RSI 14", "MACD 12 26 9")),
    "btc 4hr": Heard("BINANCE:BTCUSDT", "4h"),
    "btc 4 hours": Heard("BINANCE:BTCUSDT", "4h"),
    "btc for 4 hours": Heard("BINANCE:BTCUSDT", "5m", range=("2026-11-14T18:00:00Z", None)),
    "btc over the last couple of days": Heard(
        "BINANCE:BTCUSDT", "1h", range="2D", warnings=frozenset({"ambiguous_range"})
    ),
    "SOL few days": Heard("BINANCE:SOLUSDT", "1h", range="3D", warnings=frozenset({"ambiguous_range"})),
    "eth from monday to wednesday": Heard(
        "BINANCE:ETHUSDT", "1h", range=("2026-11-09T00:00:00Z", "2026-11-11T23:59:59Z")
    ),
    "eth between 10:00 and 14:30 today": Heard(
        "BINANCE:ETHUSDT", "5m", range=("2026-11-14T10:00:00Z", "2026-11-14T14:30:00Z")
    ),
    "btc 5 min for the last 3 hours": Heard("BINANCE:BTCUSDT", "5m", range=("2026-11-14T19:00:00Z", None)),
    "btc 15min last 24 hours with vwap": Heard("BINANCE:BTCUSDT", "15m", range="1D", studies=("VWAP",)),
    "btc 1 min": Heard("BINANCE:BTCUSDT", "1m"),
    "eth 2 hour chart": Heard("BINANCE:ETHUSDT", "2h"),
    "btc 10 day": Heard("BINANCE:BTCUSDT", "4h", range="10D"),
    "btc 100 days": Heard("BINANCE:BTCUSDT", "1D", range="100D"),
    "BTC 365d": Heard("BINANCE:BTCUSDT", "1D", range="1Y"),
    "litecoin half a year": Heard("BINANCE:LTCUSDT", "1D", range="6M"),
    "last decade of the s&p": Heard("SP:SPX", "1W", range="10Y"),
    "apple 10 years": Heard("NASDAQ:AAPL", "1W", range="10Y"),
    "amazon since january": Heard("NASDAQ:AMZN", "1D", range=("2026-01-01T00:00:00Z", None)),
    "google stock this quarter": Heard("NASDAQ:GOOGL", "4h", range=("2026-10-01T00:00:00Z", None)),
    "btc nov 2025 to feb 2026": Heard("BINANCE:BTCUSDT", "1D", range=("2025-11-01T00:00:00Z", "2026-02-28T23:59:59Z")),
    "btc 2025-11-01 - 2025-12-01": Heard(
        "BINANCE:BTCUSDT", "4h", range=("2025-11-01T00:00:00Z", "2025-12-01T23:59:59Z")
    ),
    "btc 11/01/2025 to 25/12/2025": Heard(
        "BINANCE:BTCUSDT",
        "4h",
        range=("2025-11-01T00:00:00Z", "2025-12-25T23:59:59Z"),
        warnings=frozenset({"ambiguous_date"}),
    ),
    "show eth on june 31": Heard("BINANCE:ETHUSDT", "1D", warnings=frozenset({"unparsed_range"})),
    "ema(20,50,200) btc 1h": Heard(
        "BINANCE:BTCUSDT",
        "1h",
        studies=("MovingAverageExponential 20", "MovingAverageExponential 50", "MovingAverageExponential 200"),
    ),
    "sma 20/50 btc": Heard("BINANCE:BTCUSDT", "1D", studies=("MA 20", "MA 50")),
    "rsi 14 and 21 for btc": Heard("BINANCE:BTCUSDT", "1D", studies=("RSI 14", "RSI 21")),
    "bb 20 2.5 + kc 20 1 on eth 15m": Heard(
        "BINANCE:ETHUSDT", "15m", studies=("BollingerBands 20 2.5", "KeltnerChannels 20 1")
    ),
    "btc stoch 5,3,3 1h": Heard("BINANCE:BTCUSDT", "1h", studies=("Stochastic 5 3 3",)),
    "BTC supertrend 10,3 & ema 200 4h": Heard(
        "BINANCE:BTCUSDT", "4h", studies=("SuperTrend 10 3", "MovingAverageExponential 200")
    ),
    "avax 1h ichimoku without volume and no grid": Heard(
        "BINANCE:AVAXUSDT",
        "1h",
        studies=("IchimokuCloud 9 26 52 26",),
        looks={"override": {"showVertGrid": False, "showHorzGrid": False, "showVolume": False}},
    ),
    "btc no rsi no macd": Heard("BINANCE:BTCUSDT", "1D"),
    "don't include macd, btc 1h rsi": Heard("BINANCE:BTCUSDT", "1h", studies=("RSI 14",)),
    "eth - not btc - 4h": Heard("BINANCE:ETHUSDT", "4h"),
    "not eth, btc": Heard("BINANCE:BTCUSDT", "1D"),
    "i don't want candles, give me heikin ashi for btc 1d": Heard(
        "BINANCE:BTCUSDT", "1D", looks={"style": "heikinAshi"}
    ),
    "btc light, no wait, dark": Heard("BINANCE:BTCUSDT", "1D"),
    "make it a line chart of sol 1d": Heard("BINANCE:SOLUSDT", "1D", looks={"style": "line"}),
    "BTC horizontal lines at 60k, 65k and 70k": Heard(
        "BINANCE:BTCUSDT", "1D", drawings=("horizontalLine 60000", "horizontalLine 65000", "horizontalLine 70000")
    ),
    "ETH 4h level 3000": Heard("BINANCE:ETHUSDT", "4h", drawings=("horizontalLine 3000",)),
    "btc 70k resistance and 60k support daily": Heard(
        "BINANCE:BTCUSDT", "1D", drawings=("horizontalLine 70000 resistance", "horizontalLine 60000 support")
    ),
    "btc rectangle between 60000 and 65000": Heard(
        "BINANCE:BTCUSDT", "1D", warnings=frozenset({"drawing_needs_points"})
    ),
    "btc long 65000 stop 63000": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"drawing_needs_points"})),
    "short sol 190 tp 170 sl 200 15m": Heard("BINANCE:SOLUSDT", "15m", drawings=("shortPosition 190 170 200",)),
    "btc 1920x1080 png light": Heard(
        "BINANCE:BTCUSDT", "1D", looks={"theme": "light", "width": 1920, "height": 1080, "format": "png"}
    ),
    "btc full hd jpg": Heard("BINANCE:BTCUSDT", "1D", looks={"width": 1920, "height": 1080, "format": "jpeg"}),
    "btc 300x200": Heard(
        "BINANCE:BTCUSDT", "1D", looks={"width": 400, "height": 300}, warnings=frozenset({"size_clamped"})
    ),
    "btc 5000x100": Heard(
        "BINANCE:BTCUSDT", "1D", looks={"width": 2048, "height": 300}, warnings=frozenset({"resolution_over_max"})
    ),
    "sol usdt perp on okx 1h": Heard("OKX:SOLUSDT.P", "1h"),
    "bybit eth perpetual 15m": Heard("BYBIT:ETHUSDT.P", "15m"),
    "Coinbase BTC 1h": Heard("COINBASE:BTCUSD", "1h"),
    "coinbase stock daily": Heard("NASDAQ:COIN", "1D"),
    "bitcoin futures": Heard("BINANCE:BTCUSDT.P", "1D"),
    "gold futures weekly": Heard("COMEX:GC1!", "1W"),
    "s&p futures 5m": Heard("CME_MINI:ES1!", "5m"),
    "nasdaq daily": Heard("NASDAQ:NDX", "1D", warnings=frozenset({"symbol_assumed"})),
    "apple on nasdaq daily": Heard("NASDAQ:AAPL", "1D"),
    "euro 1h": Heard("FX:EURUSD", "1h", warnings=frozenset({"symbol_assumed"})),
    "yen weekly": Heard("FX:USDJPY", "1W", warnings=frozenset({"symbol_assumed"})),
    "dollar index monthly": Heard("TVC:DXY", "1M"),
    "sol in sats": Heard("BINANCE:SOLBTC", "1D"),
    "eth in dollars 1h": Heard("BINANCE:ETHUSDT", "1h", warnings=frozenset({"symbol_assumed"})),
    "btc in try": Heard("BINANCE:BTCTRY", "1D"),
    "link/eth daily": Heard("BINANCE:LINKETH", "1D", warnings=frozenset({"symbol_unverified"})),
    "solana vs ethereum": Heard("BINANCE:SOLETH", "1D"),
    "xrp usd": Heard("BINANCE:XRPUSDT", "1D", warnings=frozenset({"symbol_assumed"})),
    "ADAUSD 1h": Heard("BINANCE:ADAUSDT", "1h", warnings=frozenset({"symbol_assumed"})),
    "MATICUSDT 1h": Heard("BINANCE:POLUSDT", "1h", warnings=frozenset({"symbol_renamed"})),
    "btcusdt ethusdt 1h": Heard("BINANCE:BTCUSDT BINANCE:ETHUSDT", "1h", warnings=frozenset({"multiple_symbols"})),
    "TSLA, AAPL and MSFT weekly": Heard(
        "NASDAQ:TSLA NASDAQ:AAPL NASDAQ:MSFT", "1W", warnings=frozenset({"multiple_symbols"})
    ),
    "$PEPE 1h": Heard("BINANCE:PEPEUSDT", "1h"),
    "#eth": Heard("BINANCE:ETHUSDT", "1D"),
    "BINANCE:SOLUSDT daily rsi.": Heard("BINANCE:SOLUSDT", "1D", studies=("RSI 14",)),
    "NASDAQ:AAPL/NASDAQ:MSFT weekly": Heard("NASDAQ:AAPL/NASDAQ:MSFT", "1W"),
    "BTC dominance vs ETH dominance": Heard(
        "CRYPTOCAP:BTC.D CRYPTOCAP:ETH.D", "1D", warnings=frozenset({"multiple_symbols"})
    ),
    "ma 50 btc": Heard("BINANCE:BTCUSDT", "1D", studies=("MA 50",)),
    "btc ma50 ma100 ma200": Heard("BINANCE:BTCUSDT", "1D", studies=("MA 50", "MA 100", "MA 200")),
    "BTC MA(7) MA(25) MA(99)": Heard("BINANCE:BTCUSDT", "1D", studies=("MA 7", "MA 25", "MA 99")),
    "vol and rsi on bnb 4h": Heard("BINANCE:BNBUSDT", "4h", studies=("Volume", "RSI 14")),
    "btc volume": Heard("BINANCE:BTCUSDT", "1D", studies=("Volume",)),
    "ada momentum 20": Heard("BINANCE:ADAUSDT", "1D", studies=("Momentum 20",)),
    "zig zag on eth": Heard("BINANCE:ETHUSDT", "1D", studies=("ZigZag 5 10",)),
    "aroon 25 btc": Heard("BINANCE:BTCUSDT", "1D", studies=("Aroon 25",)),
    "btc market cap": Heard("CRYPTOCAP:BTC", "1D"),
    "btc heatmap": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"unknown_indicator"})),
    "eth liquidations last day": Heard("BINANCE:ETHUSDT", "1h", range="1D", warnings=frozenset({"unknown_indicator"})),
    "what's the rsi of btc on the daily?": Heard("BINANCE:BTCUSDT", "1D", studies=("RSI 14",)),
    "is sol overbought? 4h rsi": Heard("BINANCE:SOLUSDT", "4h", studies=("RSI 14",)),
    "btc looks bullish, 1d chart with 200ma": Heard("BINANCE:BTCUSDT", "1D", studies=("MA 200",)),
    "BTC 1h RSI period 7, EMA length 100": Heard(
        "BINANCE:BTCUSDT", "1h", studies=("RSI 7", "MovingAverageExponential 100")
    ),
    "Chart: SOL, TF: 1h, Indicators: RSI + BB": Heard(
        "BINANCE:SOLUSDT", "1h", studies=("RSI 14", "BollingerBands 20 2")
    ),
    "sol | 4h | rsi": Heard("BINANCE:SOLUSDT", "4h", studies=("RSI 14",)),
    "\"BTC\" '4h'": Heard("BINANCE:BTCUSDT", "4h"),
    "btc@4h": Heard("BINANCE:BTCUSDT", "4h"),
    "btc,4h,rsi,macd": Heard("BINANCE:BTCUSDT", "4h", studies=("RSI 14", "MACD 12 26 9")),
    "BTC4h": Heard("BINANCE:BTCUSDT", "4h"),
    "btc1h rsi": Heard("BINANCE:BTCUSDT", "1h", studies=("RSI 14",)),
    "rsi btc 4h ema 20 50 last month dark 1600x900": Heard(
        "BINANCE:BTCUSDT",
        "4h",
        range="1M",
        studies=("RSI 14", "MovingAverageExponential 20", "MovingAverageExponential 50"),
        looks={"width": 1600, "height": 900},
    ),
    "BTC 1 Month": Heard("BINANCE:BTCUSDT", "4h", range="1M"),
    "ETH 3M": Heard("BINANCE:ETHUSDT", "1D", range="3M", warnings=frozenset({"ambiguous_range"})),
    "BTC 1Y 1W": Heard("BINANCE:BTCUSDT", "1W", range="1Y"),
    "btc 1 year daily": Heard("BINANCE:BTCUSDT", "1D", range="1Y"),
    "plot ETHUSDC on 30 min with Bollinger Bands (20, 2), MACD and volume; dark please": Heard(
        "BINANCE:ETHUSDC", "30m", studies=("BollingerBands 20 2", "MACD 12 26 9", "Volume")
    ),
    "show me btc with a 100 ema and a 200 sma on the daily": Heard(
        "BINANCE:BTCUSDT", "1D", studies=("MovingAverageExponential 100", "MA 200")
    ),
    "ETH 4h chart, add rsi(7) and remove volume": Heard("BINANCE:ETHUSDT", "4h", studies=("RSI 7",), looks=NO_VOLUME),
    "bitcoin 4h between october 1st and october 20th": Heard(
        "BINANCE:BTCUSDT", "4h", range=("2026-10-01T00:00:00Z", "2026-10-20T23:59:59Z")
    ),
    "BTC last 90 days daily candles w/ 20 SMA": Heard("BINANCE:BTCUSDT", "1D", range="3M", studies=("MA 20",)),
    "show ADA/USDT 1h for the past 3 days with stochastic": Heard(
        "BINANCE:ADAUSDT", "1h", range="3D", studies=("Stochastic 14 1 3",)
    ),
    "give me the ETH weekly since 2021": Heard("BINANCE:ETHUSDT", "1W", range=("2021-01-01T00:00:00Z", None)),
    "XRP hourly from 2026-11-01 until 2026-11-10": Heard(
        "BINANCE:XRPUSDT", "1h", range=("2026-11-01T00:00:00Z", "2026-11-10T23:59:59Z")
    ),
    "btc 5m chart from 9:30 to 16:00": Heard(
        "BINANCE:BTCUSDT", "5m", range=("2026-11-14T09:30:00Z", "2026-11-14T16:00:00Z")
    ),
    "sol 15m today only": Heard("BINANCE:SOLUSDT", "15m", range="1D"),
    "bnb this month daily volume": Heard("BINANCE:BNBUSDT", "1D", range="MTD", studies=("Volume",)),
    "avax 2h, ema 21, ema 55, rsi": Heard(
        "BINANCE:AVAXUSDT", "2h", studies=("MovingAverageExponential 21", "MovingAverageExponential 55", "RSI 14")
    ),
    "litecoin 8h heikin ashi": Heard("BINANCE:LTCUSDT", "8h", looks={"style": "heikinAshi"}),
    "btc weekly log chart all time": Heard("BINANCE:BTCUSDT", "1W", range="ALL", looks={"scale": "logarithmic"}),
    "eth monthly candles 5 years": Heard("BINANCE:ETHUSDT", "1M", range="5Y"),
    "show me microsoft's last 6 months": Heard("NASDAQ:MSFT", "1D", range="6M"),
    "what does amd look like, weekly": Heard("NASDAQ:AMD", "1W"),
    "usdcad 4h fib": Heard("FX:USDCAD", "4h", warnings=frozenset({"drawing_needs_points"})),
    "eur/gbp daily": Heard("FX:EURGBP", "1D"),
    "btc price in euros this week": Heard("BINANCE:BTCEUR", "1h", range="WTD"),
    "ethereum against bitcoin, 1 month, line chart": Heard("BINANCE:ETHBTC", "4h", range="1M", looks={"style": "line"}),
    "bybit btcusdt perp 3m vwap": Heard("BYBIT:BTCUSDT.P", "3m", studies=("VWAP",)),
    "btc on okx and coinbase": Heard("OKX:BTCUSDT", "1D", warnings=frozenset({"symbol_assumed"})),
    "TOTAL market cap weekly": Heard("CRYPTOCAP:TOTAL", "1W"),
    "usdc dominance": Heard("CRYPTOCAP:USDC.D", "1D"),
    "bitcoin 1h with bb and without rsi": Heard("BINANCE:BTCUSDT", "1h", studies=("BollingerBands 20 2",)),
    "bitcoin 4h rsi overbought 80 oversold 20": Heard("BINANCE:BTCUSDT", "4h", studies=("RSI 14 80 20",)),
    "btc rsi levels 80 and 20": Heard("BINANCE:BTCUSDT", "1D", studies=("RSI 14 80 20",)),
    "ema20 & ema50 cross on sol 1h": Heard(
        "BINANCE:SOLUSDT", "1h", studies=("MovingAverageExponential 20", "MovingAverageExponential 50")
    ),
    "3 emas 9 21 55 on btc 15m": Heard(
        "BINANCE:BTCUSDT",
        "15m",
        studies=("MovingAverageExponential 9", "MovingAverageExponential 21", "MovingAverageExponential 55"),
    ),
    "btc with two moving averages 50 and 200": Heard("BINANCE:BTCUSDT", "1D", studies=("MA 50", "MA 200")),
    "macd 12/26/9 eth": Heard("BINANCE:ETHUSDT", "1D", studies=("MACD 12 26 9",)),
    "stochastic (14,3,3) link": Heard(
        "BINANCE:LINKUSDT", "1D", studies=("Stochastic 14 3 3",), warnings=frozenset({"ambiguous_token"})
    ),
    "volume profile with 50 rows btc": Heard("BINANCE:BTCUSDT", "1D", studies=("VolumeProfileVisibleRange 50",)),
    "ichimoku 9 26 52 btc 4h": Heard("BINANCE:BTCUSDT", "4h", studies=("IchimokuCloud 9 26 52 26",)),
    "supertrend 10 3.5 btc": Heard(
        "BINANCE:BTCUSDT", "1D", studies=("SuperTrend 10 3.5",), warnings=frozenset({"param_integer_only"})
    ),
    "psar 0.01 0.01 0.1 eth": Heard("BINANCE:ETHUSDT", "1D", studies=("ParabolicSAR 0.01 0.01 0.1",)),
    "rsi 14, macd, volume - btc - 1h - light": Heard(
        "BINANCE:BTCUSDT", "1h", studies=("RSI 14", "MACD 12 26 9", "Volume"), looks={"theme": "light"}
    ),
    "btc 1h 1200px by 800px": Heard("BINANCE:BTCUSDT", "1h", looks={"height": 800}),
    "btc in 4k": Heard(
        "BINANCE:BTCUSDT", "1D", looks={"width": 2048, "height": 1152}, warnings=frozenset({"resolution_over_max"})
    ),
    "btc 1h transparent background": Heard("BINANCE:BTCUSDT", "1h", warnings=frozenset({"unrecognized_text"})),
    "btc 1h red candles": Heard("BINANCE:BTCUSDT", "1h", warnings=frozenset({"unrecognized_text"})),
    "btc 4h with alert at 71,250.50": Heard("BINANCE:BTCUSDT", "4h", drawings=("horizontalLine 71250.5",)),
    "resistance around 4100 eth": Heard("BINANCE:ETHUSDT", "1D", drawings=("horizontalLine 4100 resistance",)),
    "sol support 150, 140 and resistance 200": Heard(
        "BINANCE:SOLUSDT",
        "1D",
        drawings=("horizontalLine 150 support", "horizontalLine 140 support", "horizontalLine 200 resistance"),
    ),
    "buy btc 60000, tp 66000, sl 58000": Heard("BINANCE:BTCUSDT", "1D", drawings=("longPosition 60000 66000 58000",)),
    "long btc entry 60k tp1 62k tp2 64k sl 58k": Heard(
        "BINANCE:BTCUSDT", "1D", drawings=("longPosition 60000 62000 58000",), warnings=frozenset({"unrecognized_text"})
    ),
    "btc 4h 61800 line": Heard(
        "BINANCE:BTCUSDT", "4h", looks={"style": "line"}, warnings=frozenset({"unrecognized_text"})
    ),
    "show me btc chart with rsi below and macd below that": Heard(
        "BINANCE:BTCUSDT", "1D", studies=("RSI 14", "MACD 12 26 9")
    ),
    "BTC chart please and thank you": Heard("BINANCE:BTCUSDT", "1D"),
    "i think eth is going up, show me 1d": Heard("BINANCE:ETHUSDT", "1D"),
    "btc?": Heard("BINANCE:BTCUSDT", "1D"),
    "btc btc btc": Heard("BINANCE:BTCUSDT", "1D"),
    "eth eth 4h 4h": Heard("BINANCE:ETHUSDT", "4h"),
    "btc 60m": Heard("BINANCE:BTCUSDT", "1h"),
    "btc 240": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"unrecognized_text"})),
    "btc 1h and 4h": Heard("BINANCE:BTCUSDT", "1h", warnings=frozenset({"conflicting_interval"})),
    "btc 1h, 4h and 1d": Heard("BINANCE:BTCUSDT", "1h", warnings=frozenset({"conflicting_interval"})),
    "btc 4h/1d": Heard("BINANCE:BTCUSDT", "4h", warnings=frozenset({"conflicting_interval"})),
    "eth H1 M15": Heard("BINANCE:ETHUSDT", "1h", warnings=frozenset({"conflicting_interval"})),
    "btc 2 months 4h": Heard("BINANCE:BTCUSDT", "4h", range="2M"),
    "btc last 1000000 days": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"unrecognized_text"})),
    "btc since 1850": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"unparsed_range"})),
    "btc last 0 days": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"unparsed_range"})),
    "bitcoin last year": Heard("BINANCE:BTCUSDT", "1D", range="1Y"),
    "btc year 2022": Heard("BINANCE:BTCUSDT", "1D", range=("2022-01-01T00:00:00Z", "2022-12-31T23:59:59Z")),
    "btc january": Heard("BINANCE:BTCUSDT", "4h", range=("2026-01-01T00:00:00Z", "2026-01-31T23:59:59Z")),
    "btc jan": Heard("BINANCE:BTCUSDT", "4h", range=("2026-01-01T00:00:00Z", "2026-01-31T23:59:59Z")),
    "btc march 2025": Heard("BINANCE:BTCUSDT", "4h", range=("2025-03-01T00:00:00Z", "2025-03-31T23:59:59Z")),
    "may btc go up?": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"unrecognized_text"})),
    "btc nov 5 to nov 10": Heard("BINANCE:BTCUSDT", "1h", range=("2026-11-05T00:00:00Z", "2026-11-10T23:59:59Z")),
    "btc 5-10 nov": Heard(
        "BINANCE:BTCUSDT", "4h", range=("2026-11-01T00:00:00Z", None), warnings=frozenset({"unrecognized_text"})
    ),
    "e-mini 5m": Heard("CME_MINI:ES1!", "5m"),
    "crypto total market cap excluding btc": Heard("CRYPTOCAP:TOTAL2", "1D"),
    "btceth": Heard("BINANCE:ETHBTC", "1D", warnings=frozenset({"pair_inverted"})),
    "BTCUSDT.P on bybit": Heard("BYBIT:BTCUSDT.P", "1D"),
    "btc binance": Heard("BINANCE:BTCUSDT", "1D"),
    "eur": Heard("FX:EURUSD", "1D", warnings=frozenset({"symbol_assumed"})),
    "need a 1h btc chart, bollinger + rsi, last 48h, light mode": Heard(
        "BINANCE:BTCUSDT", "1h", range="2D", studies=("BollingerBands 20 2", "RSI 14"), looks={"theme": "light"}
    ),
    "yo show me pepe 5 minute candles for the last two hours with volume": Heard(
        "BINANCE:PEPEUSDT", "5m", range=("2026-11-14T20:00:00Z", None), studies=("Volume",)
    ),
    "Ethereum daily, 6mo, with 50/200 EMA": Heard(
        "BINANCE:ETHUSDT", "1D", range="6M", studies=("MovingAverageExponential 50", "MovingAverageExponential 200")
    ),
    "can i get the ada weekly w macd": Heard("BINANCE:ADAUSDT", "1W", studies=("MACD 12 26 9",)),
    "DOGEUSDT 15m | RSI 6 | last 1d": Heard("BINANCE:DOGEUSDT", "15m", range="1D", studies=("RSI 6",)),
    "plot sol vs btc for the last quarter": Heard(
        "BINANCE:SOLBTC", "1D", range="3M", warnings=frozenset({"ambiguous_range"})
    ),
    "bnb 4h ichimoku cloud no volume light": Heard(
        "BINANCE:BNBUSDT", "4h", studies=("IchimokuCloud 9 26 52 26",), looks={"theme": "light", **NO_VOLUME}
    ),
    "what did bitcoin do on october 10?": Heard(
        "BINANCE:BTCUSDT", "15m", range=("2026-10-10T00:00:00Z", "2026-10-10T23:59:59Z")
    ),
    "show link usdt hourly since wednesday": Heard("BINANCE:LINKUSDT", "1h", range=("2026-11-11T00:00:00Z", None)),
    "btc 1w since 2017 log": Heard(
        "BINANCE:BTCUSDT", "1W", range=("2017-01-01T00:00:00Z", None), looks={"scale": "logarithmic"}
    ),
    "xlm monthly, area chart": Heard("BINANCE:XLMUSDT", "1M", looks={"style": "area"}),
    "ETH with EMA(8), EMA(21) and VWAP, 15 mins, today": Heard(
        "BINANCE:ETHUSDT",
        "15m",
        range="1D",
        studies=("MovingAverageExponential 8", "MovingAverageExponential 21", "VWAP"),
    ),
    "trx last 30d 4h candles": Heard("BINANCE:TRXUSDT", "4h", range="1M"),
    "litecoin from mid october": Heard(
        "BINANCE:LTCUSDT", "4h", range=("2026-10-11T00:00:00Z", None), warnings=frozenset({"ambiguous_date"})
    ),
    "atom 3d chart this year": Heard("BINANCE:ATOMUSDT", "3D", range="YTD"),
    "put 200 sma on btc daily": Heard("BINANCE:BTCUSDT", "1D", studies=("MA 200",)),
    "btc 4h s/r at 60k and 70k": Heard(
        "BINANCE:BTCUSDT", "4h", drawings=("horizontalLine 60000", "horizontalLine 70000")
    ),
    "uniswap token daily rsi 14 stoch 14 3 3": Heard("BINANCE:UNIUSDT", "1D", studies=("RSI 14", "Stochastic 14 3 3")),
    "filecoin 1h dema 21": Heard("BINANCE:FILUSDT", "1h", studies=("DoubleEMA 21",)),
    "aave 2h keltner 20 2 donchian 20": Heard(
        "BINANCE:AAVEUSDT", "2h", studies=("KeltnerChannels 20 2", "DonchianChannels 20")
    ),
    "apt 30min chart last 5 days with adx 14": Heard(
        "BINANCE:APTUSDT",
        "30m",
        range="5D",
        studies=("AverageDirectionalIndex 14 14",),
        warnings=frozenset({"ambiguous_token"}),
    ),
    "sui perp 15m supertrend 10,2": Heard("BINANCE:SUIUSDT.P", "15m", studies=("SuperTrend 10 2",)),
    "arb perpetual on bybit 5m vwap": Heard("BYBIT:ARBUSDT.P", "5m", studies=("VWAP",)),
    "near protocol last week": Heard("BINANCE:NEARUSDT", "1h", range="7D"),
    "ton coin 4h": Heard("BINANCE:TONUSDT", "4h"),
    "tesla vs apple last 3 months": Heard(
        "NASDAQ:TSLA NASDAQ:AAPL", "1D", range="3M", warnings=frozenset({"multiple_symbols"})
    ),
    "spy 1d 200dma": Heard("AMEX:SPY", "1D", studies=("MA 200",)),
    "qqq weekly 2 years line": Heard("NASDAQ:QQQ", "1W", range="2Y", looks={"style": "line"}),
    "gold 4h 1 week": Heard(
        "OANDA:XAUUSD", "4h", range="7D", warnings=frozenset({"ambiguous_range", "symbol_assumed"})
    ),
    "silver daily": Heard("OANDA:XAGUSD", "1D", warnings=frozenset({"symbol_assumed"})),
    "oil this month": Heard("TVC:USOIL", "4h", range="MTD", warnings=frozenset({"symbol_assumed"})),
    "eurusd from sept 1 to oct 31": Heard("FX:EURUSD", "4h", range=("2026-09-01T00:00:00Z", "2026-10-31T23:59:59Z")),
    "usdjpy 1h last three days": Heard("FX:USDJPY", "1h", range="3D"),
    "gbpjpy m30": Heard("FX:GBPJPY", "30m"),
    "dxy vs btc ytd": Heard("TVC:DXY BINANCE:BTCUSDT", "1D", range="YTD", warnings=frozenset({"multiple_symbols"})),
    "total2 4h": Heard("CRYPTOCAP:TOTAL2", "4h"),
    "eth.d daily": Heard("CRYPTOCAP:ETH.D", "1D"),
    "btc 1m last hour": Heard("BINANCE:BTCUSDT", "1m", range=("2026-11-14T21:00:00Z", None)),
    "eth 30 second chart": Heard("BINANCE:ETHUSDT", "1m", warnings=frozenset({"interval_snapped"})),
    "sol 6h past 60 days": Heard("BINANCE:SOLUSDT", "6h", range="2M"),
    "xrp in btc 1d": Heard("BINANCE:XRPBTC", "1D"),
    "bch/btc weekly": Heard("BINANCE:BCHBTC", "1W", warnings=frozenset({"symbol_unverified"})),
    "btc eur 1h": Heard("BINANCE:BTCEUR", "1h"),
    "BTCFDUSD 1h": Heard("BINANCE:BTCFDUSD", "1h"),
    "chart solana please, hourly, no indicators at all": Heard("BINANCE:SOLUSDT", "1h"),
    "bitcoin chart, dark theme, 1600x900, png": Heard(
        "BINANCE:BTCUSDT", "1D", looks={"width": 1600, "height": 900, "format": "png"}
    ),
    "btc 4h rsi 14 with levels 75/25": Heard("BINANCE:BTCUSDT", "4h", studies=("RSI 14 75 25",)),
    "eth daily, bollinger bands length 50 deviation 2.5": Heard(
        "BINANCE:ETHUSDT", "1D", studies=("BollingerBands 50 2.5",)
    ),
    "SOL 4h no grid dark": Heard(
        "BINANCE:SOLUSDT", "4h", looks={"override": {"showVertGrid": False, "showHorzGrid": False}}
    ),
    "ETH no legend 1h heikin ashi": Heard(
        "BINANCE:ETHUSDT", "1h", looks={"style": "heikinAshi", "override": {"showLegend": False}}
    ),
    "btc without volume weekly log": Heard("BINANCE:BTCUSDT", "1W", looks={"scale": "logarithmic", **NO_VOLUME}),
    "btc 1h without rsi macd": Heard("BINANCE:BTCUSDT", "1h"),
    "bitcoin for the month of october": Heard(
        "BINANCE:BTCUSDT", "4h", range=("2026-10-01T00:00:00Z", "2026-10-31T23:59:59Z")
    ),
    "ETH weekly candles over 3 years with the 50 week ema": Heard(
        "BINANCE:ETHUSDT", "1W", range="3Y", studies=("MovingAverageExponential 50",)
    ),
    "show me xrp's 15 minute chart": Heard("BINANCE:XRPUSDT", "15m"),
    "i'd like a daily chart of cardano with 3 moving averages: 20, 50 and 100": Heard(
        "BINANCE:ADAUSDT", "1D", studies=("MA 20", "MA 50", "MA 100")
    ),
    "BTC: RSI + MACD + volume, 4 hour, past 2 weeks": Heard(
        "BINANCE:BTCUSDT", "4h", range="14D", studies=("RSI 14", "MACD 12 26 9", "Volume")
    ),
    "eth/usdt, 1 day candles, 100 day sma": Heard("BINANCE:ETHUSDT", "1D", studies=("MA 100",)),
    "polkadot this week 30m": Heard("BINANCE:DOTUSDT", "30m", range="WTD"),
    "how's avalanche looking on the weekly": Heard("BINANCE:AVAXUSDT", "1W"),
    "btc perp 1m last 30 minutes": Heard("BINANCE:BTCUSDT.P", "1m", range=("2026-11-14T21:30:00Z", None)),
    "bnb chart from last monday": Heard(
        "BINANCE:BNBUSDT", "1h", range=("2026-11-09T00:00:00Z", None), warnings=frozenset({"ambiguous_range"})
    ),
    "ltc last 10 hours": Heard("BINANCE:LTCUSDT", "15m", range=("2026-11-14T12:00:00Z", None)),
    "mstr 1h extended session": Heard("NASDAQ:MSTR", "1h", looks={"session": "extended"}),
    "coin stock weekly": Heard("NASDAQ:COIN", "1W"),
    "natural gas 3 months": Heard("NYMEX:NG1!", "1D", range="3M"),
    "btc with fibonacci from 2026-10-01 to 2026-11-01": Heard(
        "BINANCE:BTCUSDT",
        "4h",
        range=("2026-10-01T00:00:00Z", "2026-11-01T23:59:59Z"),
        drawings=("fibRetracement last",),
    ),
    "btc vs eth last year": Heard(
        "BINANCE:BTCUSDT BINANCE:ETHUSDT", "1D", range="1Y", looks={"compare": ["BINANCE:ETHUSDT"]}
    ),
    "btc 4h fibonacci of the last swing": Heard("BINANCE:BTCUSDT", "4h", drawings=("fibRetracement last",)),
    "btc 1h with my orders and average price": Heard("BINANCE:BTCUSDT", "1h", looks={"myOrders": True}),
    "btc 1h, my entry and stop": Heard("BINANCE:BTCUSDT", "1h", looks={"myOrders": True}),
    "btc 1h without my orders": Heard("BINANCE:BTCUSDT", "1h"),
    "btc 1h support at 62000 and 60000": Heard(
        "BINANCE:BTCUSDT", "1h", drawings=("horizontalLine 62000 support", "horizontalLine 60000 support")
    ),
    "draw support at 0.32 for ada 4h": Heard("BINANCE:ADAUSDT", "4h", drawings=("horizontalLine 0.32 support",)),
    "shib resistance at 0.00001234": Heard("BINANCE:SHIBUSDT", "1D", drawings=("horizontalLine 1.234e-05 resistance",)),
    "eth 4h ma 7 25 99": Heard("BINANCE:ETHUSDT", "4h", studies=("MA 7", "MA 25", "MA 99")),
    "ema 50 on 1h btc": Heard("BINANCE:BTCUSDT", "1h", studies=("MovingAverageExponential 50",)),
    "btc 15m ema 9 crossing ema 21": Heard(
        "BINANCE:BTCUSDT", "15m", studies=("MovingAverageExponential 9", "MovingAverageExponential 21")
    ),
    "volume and obv on trx daily": Heard("BINANCE:TRXUSDT", "1D", studies=("Volume", "OnBalanceVolume")),
    "solana 1h stoch rsi 14 14 3 3 and atr 10": Heard(
        "BINANCE:SOLUSDT", "1h", studies=("StochasticRSI 14 14 3 3", "AverageTrueRange 10")
    ),
    "BTC 4H BOLLINGER BANDS 20 2 DARK THEME": Heard("BINANCE:BTCUSDT", "4h", studies=("BollingerBands 20 2",)),
    "ethereum yesterday 15m with vwap": Heard(
        "BINANCE:ETHUSDT", "15m", range=("2026-11-13T00:00:00Z", "2026-11-13T23:59:59Z"), studies=("VWAP",)
    ),
    "bitcoin first quarter 2025": Heard(
        "BINANCE:BTCUSDT", "1D", range=("2025-01-01T00:00:00Z", "2025-03-31T23:59:59Z")
    ),
    "bitcoin q4": Heard("BINANCE:BTCUSDT", "4h", range=("2026-10-01T00:00:00Z", None)),
    "btc since the 1st of november": Heard("BINANCE:BTCUSDT", "4h", range=("2026-11-01T00:00:00Z", None)),
    "uni 1h area light no legend": Heard(
        "BINANCE:UNIUSDT", "1h", looks={"theme": "light", "style": "area", "override": {"showLegend": False}}
    ),
    "btc 2 hourly": Heard("BINANCE:BTCUSDT", "2h"),
    "btc since 3 days ago": Heard("BINANCE:BTCUSDT", "1h", range=("2026-11-11T00:00:00Z", None)),
    "eth since 6 hours ago 5m": Heard("BINANCE:ETHUSDT", "5m", range=("2026-11-14T16:00:00Z", None)),
    "btc since two weeks ago": Heard("BINANCE:BTCUSDT", "4h", range=("2026-10-31T00:00:00Z", None)),
    "btc between 9am and 5pm yesterday": Heard(
        "BINANCE:BTCUSDT", "5m", range=("2026-11-13T09:00:00Z", "2026-11-13T17:00:00Z")
    ),
    "sol 1h, 15m instead": Heard("BINANCE:SOLUSDT", "15m"),
    "btc and hot 1h": Heard("BINANCE:BTCUSDT", "1h", warnings=frozenset({"unrecognized_text"})),
    "hot 1h": Heard("BINANCE:HOTUSDT", "1h", warnings=frozenset({"ambiguous_token"})),
    "1000PEPEUSDT perp 15m": Heard("BINANCE:1000PEPEUSDT.P", "15m"),
    "1000SATSUSDT 4h": Heard("BINANCE:1000SATSUSDT", "4h"),
    "last 2000 candles of btc 1h": Heard(
        "BINANCE:BTCUSDT", "1h", range=("2026-10-04T06:00:00Z", None), warnings=frozenset({"too_many_bars"})
    ),
    "usdt in try daily": Heard("BINANCE:USDTTRY", "1D"),
    "btc/usdt_perp 1h": Heard("BINANCE:BTCUSDT.P", "1h"),
    "btcperp 1h": Heard("BINANCE:BTCUSDT.P", "1h"),
    "ema -5 btc": Heard(
        "BINANCE:BTCUSDT", "1D", studies=("MovingAverageExponential 9",), warnings=frozenset({"param_out_of_range"})
    ),
    "btc bollinger(20;2)": Heard("BINANCE:BTCUSDT", "1D", studies=("BollingerBands 20 2",)),
    "mn1 btc": Heard("BINANCE:BTCUSDT", "1M"),
    "trade idea: short eth from 3500, 4h": Heard("BINANCE:ETHUSDT", "4h", warnings=frozenset({"drawing_needs_points"})),
    "vertical line btc": Heard("BINANCE:BTCUSDT", "1D", warnings=frozenset({"drawing_needs_points"})),
    "btc 13h": Heard("BINANCE:BTCUSDT", "15m", range=("2026-11-14T09:00:00Z", None)),
    "BTC timeframe 240": Heard("BINANCE:BTCUSDT", "4h", warnings=frozenset({"interval_assumed"})),
    "btc 1h on kraken in eur": Heard("KRAKEN:BTCEUR", "1h"),
    "eth renko without volume": Heard("BINANCE:ETHUSDT", "1D", looks=NO_VOLUME, warnings=frozenset({"unknown_style"})),
    "kindly draw me a chart for solana": Heard("BINANCE:SOLUSDT", "1D"),
}
