"""The resources contract: market, account and order pages under `binance://`.

Its list of integration tests repeats lines that stand here already and has no entries of its own.
"""

from typing import Final

from requirements.record import contract, covered, section

RESOURCES: Final = contract(
    "resources",
    # What the server must do
    section(
        "requirement",
        covered("FR-008", "Listing resources shows each one's URI, name, description and MIME type."),
        covered("FR-009", "Reading a URI answers with the page that its category and identifier name."),
        covered("FR-010", "The market category answers the 24-hour ticker of the pair in the URI."),
        covered("FR-011", "The account category answers what the account holds."),
        covered("FR-012", "The orders category answers the account's orders by their status."),
        covered("FR-013", "A page is Markdown in one house format that a language model reads well."),
        covered("FR-014", "A page says at its end when its data was true."),
        covered("FR-015", "A URI that leads nowhere is refused with an error that shows URIs that work."),
        covered("FR-016", "The handshake announces that the server has resources."),
        covered("resources/one-content", "Reading one URI answers exactly one content, under the URI that was asked."),
        covered("resources/uri-parts", "A URI splits into the scheme binance, a category and an optional identifier."),
        covered("resources/symbol-case-uri", "URIs that the server writes spell the pair in lower case."),
        covered("resources/symbol-case-exchange", "Requests to the exchange spell the pair in upper case."),
        covered("resources/timestamp-source", "The time on a page is the exchange's own, or else the server's."),
    ),
    # What success looks like
    section(
        "success criterion",
        covered("SC-003", "Answering follow-up questions from a page saves at least four of ten tool calls."),
        covered("SC-005", "A desktop client sees at least five resources in the list."),
        covered("resources/sc-007", "The market page carries every field of the 24-hour ticker that the sample shows."),
    ),
    # Given, when, then
    section(
        "acceptance",
        covered("resources/us3-1", "A question about Bitcoin is answered from the btcusdt page, with no tool call."),
        covered("resources/us3-2", "The market page holds price, 24-hour change, volume, high and low."),
        covered("resources/us3-3", "Reading the same page again gives current data without needless exchange calls."),
        covered("resources/us4-1", "A question about balances is answered from the balances page."),
        covered("resources/us4-2", "The list shows the market pages and the account pages together."),
        covered("resources/us4-3", "An account with active orders finds them on the open orders page."),
    ),
    # Addresses and registrations
    section(
        "format",
        covered("resources/market-pattern", "`binance://market/{symbol}` serves any pair and is listed as a template."),
        covered("resources/account-pattern", "`binance://account/{type}` addresses the account pages."),
        covered("resources/orders-pattern", "`binance://orders/{status}` addresses the order pages."),
        covered("resources/btcusdt-registration", "The list names the btcusdt page exactly as the sample does."),
        covered("resources/ethusdt-registration", "The list names the ethusdt page exactly as the sample does."),
        covered("resources/balances-registration", "The list names the balances page exactly as the sample does."),
        covered("resources/open-orders-registration", "The list names the open orders page just as the sample does."),
        covered("resources/list-response", "The list opens with the sample's four resources, in the sample's order."),
    ),
    # Pages
    section(
        "format",
        covered("resources/btcusdt-page", "The btcusdt page has the sample's labels in its order; a gain shows a +."),
        covered("resources/ethusdt-page", "The ethusdt page has the same labels; a loss shows its minus before the $."),
        covered("resources/balances-page", "The balances page is a table of free, locked and total for held assets."),
        covered("resources/balances-summary", "Under the table stand the asset count and what the account may do."),
        covered("resources/open-orders-page", "The open orders page is a table with one row per active order."),
        covered("resources/open-orders-summary", "Under the table stand the number of orders and their rough value."),
    ),
    # Markdown house format
    section(
        "format",
        covered("resources/format-title", "The title of a page is its one first-level heading."),
        covered("resources/format-labels", "Field labels are bold."),
        covered("resources/format-tables", "Balances and orders are Markdown tables."),
        covered("resources/format-timestamp", "The time of the data stands near the end, in italics."),
        covered("resources/format-prices", "Prices in dollars have a $ in front and two decimals."),
        covered("resources/format-amounts", "Amounts of crypto assets have eight decimals."),
        covered("resources/format-percentages", "Percentages have one or two decimals and a % behind."),
        covered("resources/format-source", "The page names Binance's API as the source of its data."),
    ),
    # Handshake
    section(
        "format",
        covered("resources/capabilities", "Prompts, resources and tools are announced, none with changing lists."),
        covered(
            "resources/subscriptions",
            "Market pages can be subscribed to where they are streamed, and one's orders where they are placed.",
        ),
        covered("resources/server-info", "The server gives its name and its version."),
        covered("resources/protocol-revision", "A client that asks for revision 2024-11-05 is answered in it."),
    ),
    # Errors
    section(
        "error",
        covered("resources/not-found", "-32404 echoes the URI and gives the categories, sample URIs and a way out."),
        covered("resources/unparseable-uri", "A URI that cannot be taken apart is refused with -32404 as well."),
        covered("resources/invalid-symbol", "-32003 echoes the symbol in upper case and gives samples and a way out."),
        covered("resources/rate-limited", "-32001 gives the seconds to wait, the weight used and the weight allowed."),
    ),
    # Edges
    section(
        "edge case",
        covered("resources/exchange-unavailable", "When Binance does not answer, the error suggests trying again."),
        covered("resources/stale-symbol", "A pair without recent trades is shown with a line that says so."),
        covered("resources/rate-limited-read", "A rate limit met while reading is an error with the time to wait."),
        covered("resources/zero-balances", "An empty account reads as a sentence, not as an empty table."),
        covered("resources/no-open-orders", "Without open orders the page is a title, one sentence and the time."),
        covered("resources/incorrect-uri", "A URI of the wrong shape is refused like a missing page, with good URIs."),
    ),
)
