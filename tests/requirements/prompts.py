"""The prompts contract: market and portfolio data prepared for a model to reason about.

FR-003 lies in the range the contract claims but is not described in it, so it has no entry.
"""

from typing import Final

from requirements.record import contract, covered, section

PROMPTS: Final = contract(
    "prompts",
    # What the server must do
    section(
        "requirement",
        covered("FR-001", "The server answers prompts/list and prompts/get."),
        covered("FR-002", "trading_analysis prepares one pair's live market data for a recommendation."),
        covered("FR-004", "portfolio_risk prepares the account's balances for a risk assessment."),
        covered("FR-005", "A prompt answers with messages whose text is formatted Markdown."),
        covered("FR-006", "The handshake announces that the server has prompts."),
        covered("FR-007", "A prompt that cannot be prepared fails with an error a reader can act on."),
        covered("FR-018", "A spent rate limit is an error that gives the time to wait."),
        covered("FR-019", "Refused credentials are an error that shows the key masked and where to get help."),
        covered("FR-020", "An unusable symbol is an error that shows usable ones."),
        covered("FR-022", "Each kind of failure has its own fixed error code."),
        covered("prompts/one-message", "A prompt answers exactly one message, in the role of the user."),
    ),
    # What success looks like
    section(
        "success criterion",
        covered("SC-001", "A plain question about a market has its data within three seconds."),
        covered("SC-002", "The risk assessment covers every asset held, with its share of the whole."),
        covered("SC-007", "A market prompt carries price, volume, change, high and low."),
    ),
    # Given, when, then
    section(
        "acceptance",
        covered("prompts/us1-1", "A question about buying Bitcoin receives its price, change, volume, high and low."),
        covered("prompts/us1-2", "A strategy that the user chose appears in the text the model receives."),
        covered("prompts/us1-3", "The text gives a model enough to recommend something concrete."),
        covered("prompts/us2-1", "An account with balances sees every one that is not zero."),
        covered("prompts/us2-2", "Each asset shows its free and its locked amount."),
        covered("prompts/us2-3", "The text gives a model enough to judge risk and diversification."),
    ),
    # Registrations
    section(
        "format",
        covered("prompts/list-response", "The list shows both prompts with name, description and arguments."),
        covered("prompts/trading-analysis-registration", "trading_analysis is listed in the contract's words."),
        covered("prompts/portfolio-risk-registration", "portfolio_risk is listed with an empty list of arguments."),
        covered("prompts/capabilities", "Prompts and tools are announced, neither with changing lists."),
    ),
    # Arguments
    section(
        "validation rule",
        covered("prompts/symbol-required", "trading_analysis needs a symbol."),
        covered("prompts/symbol-pattern", "Every symbol of two to ten letters and USDT that is traded is accepted."),
        covered("prompts/strategy-values", "strategy is optional: aggressive, balanced or conservative."),
        covered("prompts/risk-tolerance-values", "risk_tolerance is optional: low, medium or high."),
        covered("prompts/no-arguments", "portfolio_risk takes no arguments."),
    ),
    # Pages
    section(
        "format",
        covered("prompts/trading-analysis-page", "The analysis has the sample's title, market lines and closing time."),
        covered("prompts/trading-analysis-preferences", "Strategy and risk tolerance are shown as words."),
        covered("prompts/trading-analysis-levels", "It ends in an entry range, a stop loss and a take profit."),
        covered("prompts/portfolio-risk-page", "The assessment has the sample's sections and holdings table."),
        covered("prompts/portfolio-risk-value", "Each holding and the whole portfolio are valued in dollars."),
        covered("prompts/portfolio-risk-composition", "Each asset shows its share and how volatile it is."),
        covered("prompts/portfolio-risk-advice", "It ends in what the weights mean and how to balance them."),
    ),
    # Markdown house format
    section(
        "format",
        covered("prompts/format-title", "The title of a prompt's text is its one first-level heading."),
        covered("prompts/format-metrics", "Key figures are labelled in bold."),
        covered("prompts/format-italics", "Recommendations and the time are in italics."),
        covered("prompts/format-tables", "Portfolio figures are a Markdown table."),
        covered("prompts/format-timestamp", "Every text ends with its time."),
        covered("prompts/format-escaping", "Text that comes from outside cannot break the Markdown around it."),
        covered("prompts/format-decimals", "Dollars have two decimals, crypto amounts more."),
    ),
    # Errors
    section(
        "error",
        covered("prompts/invalid-symbol", "-32003 echoes the symbol with sample symbols and a way out."),
        covered("prompts/rate-limited", "-32001 gives the seconds to wait, the weight used and the weight allowed."),
        covered("prompts/invalid-credentials", "-32002 gives the masked key, a help page and a way out."),
        covered("prompts/code-rate-limited", "A rate limit is -32001."),
        covered("prompts/code-invalid-credentials", "Refused or missing credentials are -32002."),
        covered("prompts/code-invalid-symbol", "An unusable symbol is -32003."),
        covered("prompts/code-insufficient-balance", "A balance too small for the operation is -32004."),
        covered("prompts/code-internal", "A failure of our own is -32603."),
    ),
    # Edges
    section(
        "edge case",
        covered("prompts/no-holdings", "An empty account is told so, with a first allocation to consider."),
    ),
)
