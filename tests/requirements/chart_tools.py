"""The chart tools contract: six tools that lead from a sentence to a chart."""

from typing import Final

from requirements.record import contract, covered, section

CHART_TOOLS: Final = contract(
    "chart tools",
    # Tool 1: documentation
    section(
        "tool schema",
        covered("charts/fetch_chart_documentation", "Answers what chart-img.com can draw, as structured data."),
        covered("charts/fetch_chart_documentation/input", "Takes an optional section and an optional forceRefresh."),
        covered("charts/fetch_chart_documentation/sections", "A section is indicators, parameters, exchanges or all."),
        covered("charts/fetch_chart_documentation/output", "Answers success, data, cachedAt and, on failure, error."),
        covered("charts/fetch_chart_documentation/indicators", "An indicator has two names, a category and inputs."),
        covered("charts/fetch_chart_documentation/parameters", "Parameters are intervals, ranges, themes and styles."),
        covered("charts/fetch_chart_documentation/limits", "Limits per plan are rates, resolution and studies."),
        covered("charts/fetch_chart_documentation/examples", "Examples pair a description with a configuration."),
        covered("charts/fetch_chart_documentation/cache", "What was fetched is kept a day unless a refresh is forced."),
        covered("charts/fetch_chart_documentation/fallback", "When fetching fails, the kept copy is answered."),
        covered("charts/fetch_chart_documentation/log", "Whether the copy was used is logged."),
        covered("charts/fetch_chart_documentation/latency", "Under 2 s when fetched, under 50 ms when kept."),
    ),
    # Tool 2: exchanges
    section(
        "tool schema",
        covered("charts/get_exchanges", "Answers the exchanges that chart-img.com knows."),
        covered("charts/get_exchanges/input", "Takes no arguments."),
        covered("charts/get_exchanges/output", "Answers success, exchanges, count and, on failure, error."),
        covered("charts/get_exchanges/exchange", "An exchange has an id, a name, a type and a description."),
        covered("charts/get_exchanges/order", "Exchanges are sorted by type, then by name."),
        covered("charts/get_exchanges/source", "The list comes from the v3 exchanges endpoint."),
        covered("charts/get_exchanges/cache", "The list is kept for an hour."),
        covered("charts/get_exchanges/latency", "Under 1 s when fetched, under 50 ms when kept."),
    ),
    # Tool 3: symbols
    section(
        "tool schema",
        covered("charts/get_symbols", "Answers the symbols of one exchange."),
        covered("charts/get_symbols/input", "Takes an exchange, an optional search and an optional limit."),
        covered("charts/get_symbols/limit", "Without a limit, at most fifty symbols are answered."),
        covered("charts/get_symbols/output", "Answers success, exchange, symbols, count and, on failure, error."),
        covered("charts/get_symbols/symbol", "A symbol has its short and full name, a description and a type."),
        covered("charts/get_symbols/search", "Where the service cannot search, the tool filters."),
        covered("charts/get_symbols/source", "The list comes from the v3 symbols endpoint of the exchange."),
        covered("charts/get_symbols/cache", "Each exchange's list is kept for an hour."),
        covered("charts/get_symbols/latency", "Under 2 s."),
    ),
    # Tool 4: from a sentence to a configuration
    section(
        "tool schema",
        covered("charts/construct_chart_config", "Turns a sentence into a complete chart configuration."),
        covered("charts/construct_chart_config/input", "Takes a sentence and optional symbol, exchange, preferences."),
        covered("charts/construct_chart_config/preferences", "Preferences set theme, resolution, interval and range."),
        covered("charts/construct_chart_config/output", "Answers success, config, reasoning, warnings, perhaps error."),
        covered("charts/construct_chart_config/config", "A config has a full symbol, an interval and optional parts."),
        covered("charts/construct_chart_config/studies", "A study has a name and optional inputs and overrides."),
        covered("charts/construct_chart_config/drawings", "A drawing has a type, coordinates and an optional style."),
        covered("charts/construct_chart_config/example", "The sample sentence becomes the sample configuration."),
        covered("charts/construct_chart_config/defaults", "What the sentence leaves open gets a sensible default."),
        covered("charts/construct_chart_config/reasoning", "The answer explains what was understood and chosen."),
        covered("charts/construct_chart_config/warnings", "What could be read in two ways is said in a warning."),
        covered("charts/construct_chart_config/checked", "What is chosen is checked against the documentation."),
        covered("charts/construct_chart_config/log", "Choices are logged for debugging."),
        covered("charts/construct_chart_config/latency", "Under 500 ms, without the network."),
    ),
    # Tool 4: what it understands
    section(
        "format",
        covered("charts/detect-bitcoin", "Bitcoin and BTC mean BTCUSDT."),
        covered("charts/detect-ethereum", "Ethereum and ETH mean ETHUSDT."),
        covered("charts/detect-apple", "Apple and AAPL mean NASDAQ:AAPL."),
        covered("charts/detect-euro", "EUR/USD means FX:EURUSD."),
        covered("charts/detect-week", "A week or seven days mean 7D."),
        covered("charts/detect-month", "A month or thirty days mean 1M."),
        covered("charts/detect-year", "A year means 1Y."),
        covered("charts/detect-today", "Today means 1D."),
        covered("charts/interval-below-a-day", "Less than a day is drawn in steps of 5 or 15 minutes."),
        covered("charts/interval-up-to-a-week", "One to seven days are drawn in steps of an hour."),
        covered("charts/interval-up-to-a-quarter", "One to three months are drawn in steps of four hours or a day."),
        covered("charts/interval-beyond-a-quarter", "More than three months are drawn in steps of a day or a week."),
        covered("charts/detect-bollinger-bands", "Bollinger Bands mean BollingerBands@tv-basicstudies."),
        covered("charts/detect-rsi", "RSI and relative strength mean RSI@tv-basicstudies."),
        covered("charts/detect-macd", "MACD means MACD@tv-basicstudies."),
        covered("charts/detect-moving-average", "Moving average and MA mean MA@tv-basicstudies."),
    ),
    # Tool 5: validation
    section(
        "tool schema",
        covered("charts/validate_chart_config", "Says before sending whether a configuration will be drawn."),
        covered("charts/validate_chart_config/input", "Takes a config and an optional planLevel."),
        covered("charts/validate_chart_config/plans", "A plan is BASIC, PRO, MEGA or ULTRA."),
        covered("charts/validate_chart_config/output", "Answers valid, errors, suggestions and rateLimitCheck."),
        covered("charts/validate_chart_config/errors", "An error has a field, a message and a severity."),
        covered("charts/validate_chart_config/limits", "rateLimitCheck sets use against limit and says if it fits."),
        covered("charts/validate_chart_config/example", "The sample configuration is refused on BASIC as shown."),
        covered("charts/validate_chart_config/suggestions", "Suggestions say what to change, or which plan allows it."),
        covered("charts/validate_chart_config/warnings", "A config that works but could be better gets warnings."),
        covered("charts/validate_chart_config/latency", "Under 200 ms, without the network."),
    ),
    # Tool 5: the rules
    section(
        "validation rule",
        covered("charts/rule-symbol", "A symbol is required and has the form EXCHANGE:SYMBOL."),
        covered("charts/rule-interval", "An interval is required and is one of the known ones."),
        covered("charts/rule-resolution", "A resolution stays within the plan."),
        covered("charts/rule-studies", "The number of studies stays within the plan."),
        covered("charts/rule-drawings", "The number of drawings stays within the plan."),
        covered("charts/rule-theme", "A theme is light or dark."),
        covered("charts/rule-style", "A style is one of the known ones."),
        covered("charts/rule-values", "The values that are allowed come from the documentation."),
    ),
    # Tool 6: the image
    section(
        "tool schema",
        covered("charts/generate_chart_image", "Has a configuration drawn and answers the image."),
        covered("charts/generate_chart_image/input", "Takes a config, an optional storage and an optional format."),
        covered("charts/generate_chart_image/formats", "A format is png or jpeg."),
        covered("charts/generate_chart_image/output", "Answers success, metadata, apiResponse and, on failure, error."),
        covered("charts/generate_chart_image/stored", "With storage, imageUrl says where the image is and until when."),
        covered(
            "charts/generate_chart_image/inline",
            "Without storage, imageData is the image in base64, when it is asked for.",
        ),
        covered("charts/generate_chart_image/metadata", "Metadata gives format, resolution and the time of drawing."),
        covered("charts/generate_chart_image/response", "apiResponse gives the status and what is left of the limit."),
        covered("charts/generate_chart_image/endpoints", "Stored and inline images come from their own v2 endpoints."),
        covered("charts/generate_chart_image/key", "The key travels in the x-api-key header."),
        covered("charts/generate_chart_image/retries", "A failed attempt is repeated at most three times, ever later."),
        covered("charts/generate_chart_image/log", "What the service answered is logged."),
        covered("charts/generate_chart_image/latency", "Under 5 s."),
    ),
    # How the tools are used together
    section(
        "scenario",
        covered("charts/pattern-simple", "Construct, perhaps validate, generate."),
        covered("charts/pattern-exploration", "Find exchange and symbol, then construct and generate."),
        covered("charts/pattern-documentation", "Read the documentation, construct, validate, generate."),
        covered("charts/pattern-refinement", "Mend a refused configuration until it is valid, then generate."),
    ),
    # Errors
    section(
        "error",
        covered("charts/error-authentication", "A refused key fails with a message that names CHART_IMG_API_KEY."),
        covered("charts/error-rate-limit", "A spent limit fails with the seconds to wait, in words and as retryAfter."),
        covered("charts/error-validation", "A bad configuration fails with details per field."),
        covered("charts/recover-missing-key", "Without a key the user is told which variable to set."),
        covered("charts/recover-rate-limit", "A spent limit is waited out, ever longer."),
        covered("charts/recover-invalid-config", "A refused configuration can be explained by the validating tool."),
        covered("charts/recover-network", "A network failure is repeated at most three times, ever later."),
    ),
    # Speed
    section(
        "requirement",
        covered("charts/parallel", "Tools that do not need each other can run at the same time."),
        covered("charts/connections", "Requests to the service reuse connections."),
    ),
)
