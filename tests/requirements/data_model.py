"""The data model contract: sessions, resources, prompts and transports, all in memory."""

from typing import Final

from requirements.record import contract, covered, planned, section

DATA_MODEL: Final = contract(
    "data model",
    # Sessions: what they hold
    section(
        "format",
        covered("data-model/session-connection-id", "A session is known by a random UUID of version 4."),
        covered("data-model/session-created-at", "A session knows when it began, in UTC."),
        covered("data-model/session-last-activity", "A session knows when it was last used, in UTC."),
        covered("data-model/session-remote-addr", "A session knows its client's address."),
        covered("data-model/session-user-agent", "A session knows its client's user agent, if one was sent."),
        covered("data-model/session-credentials", "A session may hold its own exchange credentials."),
    ),
    # Sessions: how they live
    section(
        "requirement",
        covered("data-model/session-created", "The event-stream handshake opens a session."),
        covered("data-model/session-updated", "Every request refreshes a session."),
        covered("data-model/session-destroyed", "A session ends when it has idled out or its client leaves."),
        covered("data-model/session-subscriptions", "One session may follow many live streams."),
        covered("data-model/session-isolation", "Sessions cannot see each other's data."),
        covered("data-model/session-sweep", "A recurring task clears idle sessions every thirty seconds."),
        covered("data-model/in-memory", "Nothing of a session, a caller or an account is written to disk."),
        covered("data-model/utc", "Every time is in UTC."),
        covered("data-model/credentials-unlogged", "Credentials reach neither a log nor the disk."),
    ),
    # Resources
    section(
        "format",
        covered("data-model/resource-attributes", "A resource has a URI, a category, a name and maybe a description."),
        planned("data-model/resource-identifier", "The identifier of a resource may be missing."),
        covered("data-model/resource-mime-type", "Every binance:// page is text/markdown."),
        covered("data-model/resource-content", "A page is built of headings, lists and tables."),
        covered("data-model/resource-stateless", "A page is made anew for each read; nothing is remembered for it."),
        planned("data-model/market-category", "Market pages show tickers and order books."),
        covered("data-model/account-category", "Account pages show balances and positions."),
        covered("data-model/orders-category", "Order pages show open orders and history."),
    ),
    # Prompts
    section(
        "requirement",
        covered("data-model/prompt-attributes", "A prompt has a name, a description, parameters and a template."),
        covered("data-model/prompt-stateless", "A prompt is made anew from current data for each request."),
        covered("data-model/symbol-parameter", "A prompt on one market takes its symbol as a string."),
        covered("data-model/trading-strategy", "The strategy is optional and one of three."),
        covered("data-model/prompt-trading-analysis", "trading_analysis is offered."),
        covered("data-model/prompt-portfolio-risk", "portfolio_risk is offered."),
        covered("data-model/prompt-market-microstructure-analysis", "market_microstructure_analysis reads the book."),
        covered("data-model/prompt-order-flow-trading", "order_flow_trading derives signals from order flow."),
        covered(
            "data-model/prompt-liquidity-mapping",
            "liquidity_mapping finds thin traded ranges (vacuums) and large standing sizes (walls).",
        ),
    ),
    # Transports
    section(
        "requirement",
        covered("data-model/stdio-transport", "--stdio speaks MCP over standard input and output."),
        covered("data-model/sse-transport", "--sse --port serves MCP over HTTP with event streams."),
        covered("data-model/grpc-transport", "--grpc --port serves the provider's gRPC service, which is not MCP."),
        covered("data-model/transport-exclusive", "One process runs one transport; asking for two is refused."),
        covered("data-model/sse-open", "POST /mcp/sse opens a session and answers its Connection-ID."),
        covered("data-model/sse-message", "POST /mcp/message with a Connection-ID answers in JSON."),
    ),
    # The numbered rules
    section(
        "validation rule",
        covered("data-model/session-timeout", "A session unused for more than thirty seconds is cleared away."),
        covered("data-model/max-sessions", "At most fifty sessions are open at once."),
        covered("data-model/uri-format", "A binance:// URI is a category and an identifier, or it is refused."),
        covered("data-model/category-values", "A category is market, account or orders, or it is refused."),
        covered("data-model/credentials", "Only work on an account needs credentials."),
    ),
)
