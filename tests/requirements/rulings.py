"""The rulings: where the documents disagree with each other or with the world, and what we do instead.

A line is an id, what we do, and the divergence: what a document says against it. A ruling that reaches into parts not
built yet has a second line with a suffix, so that the first can be covered on its own.
"""

from typing import Final

from requirements.record import contract, covered, planned, section

RULINGS: Final = contract(
    "rulings",
    # Protocol and errors
    section(
        "ruling",
        covered(
            "ruling/01",
            "Every protocol revision that the SDK knows is served, with the handshake and without.",
            "Resources and prompts pin one revision, 2024-11-05; it is answered to those who ask for it, among others.",
        ),
        covered(
            "ruling/02",
            "Prompts, resources, tools and completions are announced, with fixed lists; subscriptions where they work.",
            "Prompts omits resources and nobody names completions; we announce the union of what is there.",
        ),
        covered(
            "ruling/03",
            "The server calls itself mcp-binance-server and gives the version of the package.",
            "The samples fix the version at 0.1.0; ours follows the release.",
        ),
        covered(
            "ruling/04",
            "Error codes are the same in every revision and transport, and the data has type, retryability and advice.",
            "Prompts gives -32002 to credentials, which revision 2026-07-28 forbids; there the code is 32002.",
        ),
        covered(
            "ruling/05",
            "Messages use the contract's sentences; what they echo is short, printable and neither HTML nor a stack.",
            "The documents echo input without a limit; we cut it at 200 characters and strip control characters.",
        ),
        covered(
            "ruling/06",
            "A bad symbol is -32003; an unknown category or identifier is -32404.",
            "Resources gives both codes to URIs that lead nowhere; the category decides which one applies.",
        ),
        covered(
            "ruling/06-guide",
            "The data of -32404 lists guide URIs beside the binance ones.",
            "Resources lists only its own URIs as examples; ours show both schemes.",
        ),
        covered(
            "ruling/07",
            "A rate limit reports the weights and the wait that Binance really gave.",
            "The samples show a limit of 1200; the figure in force comes from the exchange.",
        ),
        covered(
            "ruling/07-prompts",
            "A rate limit met while gathering a prompt is the error; any other missing part is a marked section.",
            "Prompts does not say what a half-gathered text looks like; we never show one for a rate limit.",
        ),
        covered(
            "ruling/08",
            "A failed tool answers the contract's failure object as structured content and is flagged as an error.",
            "Chart tools answers failures as ordinary results; MCP wants isError, so we send both.",
        ),
        covered(
            "ruling/09",
            "429, 418 and -1003 become -32001; -1121 or a symbol that is not listed becomes -32003.",
            "Resources names only 429 as a trigger; the exchange has more ways to say the same.",
        ),
        covered(
            "ruling/09-signed",
            "401, -1022, -2014, -2015 and missing keys become -32002; a balance too short to order with is -32004.",
            "Prompts gives the codes but not their triggers or the data of -32004; we state both.",
        ),
        planned(
            "ruling/09-orders",
            "An order that the exchange refuses for want of balance, by -2010, becomes -32004.",
            "Prompts names no order; the code is met once orders are sent.",
        ),
    ),
    # Symbols and numbers
    section(
        "ruling",
        covered(
            "ruling/10",
            "Symbols are trimmed, folded in ASCII only and looked up in exchangeInfo; near misses are suggested.",
            "Prompts allows letters and a USDT quote only, which would refuse pairs Binance lists; we take them all.",
        ),
        covered(
            "ruling/11",
            "Prices have the decimals of their tick, two at least, averages one more; $ is for dollar-like quotes.",
            "Resources wants $ and two decimals on every price, which misprices ETHBTC and shows SHIBUSDT as zero.",
        ),
        covered(
            "ruling/11-account",
            "Balances have eight decimals, the portfolio table four or two, order quantities what Binance sent.",
            "The standards say eight decimals throughout, the samples do not; each sample's own precision is kept.",
        ),
        covered(
            "ruling/12",
            "On a resource the signed amount comes first and the signed percentage stands in brackets behind it.",
            "The documents order and sign the change differently; a resource follows the resources sample.",
        ),
        covered(
            "ruling/12-prompts",
            "In a prompt the signed percentage comes first and the amount stands in brackets behind it.",
            "The documents order and sign the change differently; a prompt follows the prompts sample.",
        ),
        covered(
            "ruling/13",
            "Totals are computed from the rows shown: price times what is left of each order.",
            "The totals in the samples do not follow from their rows; we keep the labels and do the sums.",
        ),
        covered(
            "ruling/14",
            "The line called Price Change Count shows the number of trades in 24 hours.",
            "Resources has a label that Binance has no field for; the label stays, the trade count fills it.",
        ),
        covered(
            "ruling/15",
            "A page's time is the exchange's, in ISO 8601 with milliseconds and Z; old data says that it is old.",
            "Resources allows exchange or server time without an order; the exchange's goes first.",
        ),
        covered(
            "ruling/15-prompts",
            "A prompt's time is date, time of day and UTC, without a T or milliseconds.",
            "The documents write the same moment in two ways; each surface keeps its own.",
        ),
    ),
    # Resources and prompts
    section(
        "ruling",
        covered(
            "ruling/16",
            "After the four come positions, order history and the guide's help; positions value what is not stable.",
            "Resources promises five and lists four; spot has no positions, so that page says what it shows instead.",
        ),
        covered(
            "ruling/17",
            "Templates are listed by their own MCP method and also inside the list of resources.",
            "Guide puts templates into resources/list, where MCP has no place for them; we do both.",
        ),
        covered(
            "ruling/18",
            "The schema of a prompt argument validates and completes; the list does not show it.",
            "Prompts puts a schema into the list and a method into a response; neither is MCP, so neither is sent.",
        ),
        covered(
            "ruling/19",
            "An empty account is No holdings on the resource and the longer text in the prompt.",
            "The documents word an empty account differently; each surface keeps its own words.",
        ),
        covered(
            "ruling/20",
            "Advice is derived from the numbers by stated rules, marked as computed and as no financial advice.",
            "Prompts has a sample with an opinion of unknown origin; ours can be worked out from the page.",
        ),
        covered(
            "ruling/21",
            "Equal reads within one second share one exchange call, and the page shows the data's own time.",
            "Resources wants every read fresh and none wasteful; one second is where we put the line.",
        ),
    ),
    # Networks and keys
    section(
        "ruling",
        covered(
            "ruling/22",
            "One network serves public and private data, mainnet unless set; account pages name who answered.",
            "The samples assume testnet throughout; testnet notes appear only on testnet.",
        ),
        covered(
            "ruling/23",
            "Keys come from BINANCE_ variables or a key file, the rest from MCP_BINANCE_, and no secret from a flag.",
            "Prompts knows two variables; we also take the common alias and asymmetric keys.",
        ),
        covered(
            "ruling/23-charts",
            "The chart service's key and plan come from CHART_IMG_API_KEY and CHART_IMG_PLAN.",
            "Chart tools names a variable for the key and none for the plan; we add one.",
        ),
        covered(
            "ruling/24",
            "A key is shown as its first and last four characters, a short one not at all; help follows the network.",
            "Prompts masks one sample key and always points to the testnet; short keys would be given away.",
        ),
    ),
    # Sessions and transports
    section(
        "ruling",
        covered(
            "ruling/25",
            "One HTTP application offers the standard endpoint, the contract's two and legacy event streams.",
            "Data model describes two endpoints that no MCP client speaks; they are ways to the same sessions.",
        ),
        covered(
            "ruling/26",
            "The fifty-first session gets 503, and at thirty idle seconds a session is gone, swept or not.",
            "Data model lets a sweep every thirty seconds decide, so a session could live twice as long.",
        ),
        covered(
            "ruling/27",
            "Address and user agent are the client's own, even behind a trusted proxy.",
            "Data model does not say whose address counts when a proxy stands between; the client's does.",
        ),
        covered(
            "ruling/28",
            "Credentials of a session arrive in headers, serve tools, resources and prompts, and stay in memory.",
            "Data model gives sessions credentials but no way in; prompts knows environment variables only.",
        ),
        covered(
            "ruling/29",
            "Public market data is shared between sessions; everything signed is kept apart.",
            "Data model forbids all sharing between sessions; fifty copies of one public stream help nobody.",
        ),
        covered(
            "ruling/30",
            "A process has one transport, and gRPC is a service of its own beside MCP.",
            "Data model counts gRPC among the transports of MCP messages and also says that it is not MCP.",
        ),
    ),
    # Guide
    section(
        "ruling",
        covered(
            "ruling/31",
            "Matches are combined without repeats; the boundary gives way when a document contains it.",
            "Guide fixes one boundary and returns both kinds of match; one file found twice is still one document.",
        ),
        covered(
            "ruling/32",
            "A document id may hold slashes; what would leave the guide's folder is not found, with -32404.",
            "Guide gives messages but no codes and says nothing of escapes; we settle both on the side of not found.",
        ),
    ),
    # Charts
    section(
        "ruling",
        covered(
            "ruling/33",
            "The tools speak the contract's dialect and one function translates it for chart-img.com.",
            "Chart tools names studies, inputs and ranges in ways the real service does not understand.",
        ),
        covered(
            "ruling/34",
            "The documentation tool answers indicators and, for that section, studies as a second name.",
            "Chart tools says indicators in its schema and studies in its example; both are there.",
        ),
        covered(
            "ruling/35",
            "withinLimits speaks of counts; a resolution that is too large shows in errors and valid.",
            "Chart tools compares resolutions in the check whose sample calls an excess within limits.",
        ),
        covered(
            "ruling/36",
            "count is the number of rows answered, and total says how many there are.",
            "Chart tools has samples whose count does not match their rows; ours always does.",
        ),
        covered(
            "ruling/37",
            "An image is MCP image content, base64 only for who asks for it; its format goes into the request.",
            "Chart tools knows base64 in JSON only; a client shows an image when it gets one.",
        ),
        covered(
            "ruling/38",
            "Without a key, or for a pair the service lacks, Binance pairs are drawn here, and metadata says so.",
            "Chart tools treats a missing key as the end; for Binance pairs a chart is still possible.",
        ),
    ),
    # What clients really do
    section(
        "ruling",
        covered(
            "ruling/39",
            "Text and structured content carry the same facts; a picture is one image block and no structure.",
            "Chart tools answers base64 in JSON; clients that read one channel would miss the picture or drown in it.",
        ),
        covered(
            "ruling/40",
            "What a model reads of tools/list and the whole answer each stay within a stated size.",
            "No document limits the list of tools; a model pays for every byte of it.",
        ),
        covered(
            "ruling/41",
            "A category without an identifier is an index page, and a symbol's order book is a resource.",
            "Resources calls an address without an identifier unknown; data model names the order book and no address.",
        ),
        covered(
            "ruling/42",
            "An indicator, level or price has one definition and warm-up: tool, page and chart print the same digits.",
            "No document says where an average starts or a VWAP is anchored; one rule holds everywhere.",
        ),
        covered(
            "ruling/43",
            "A variable of ours that nobody reads stops the start, with the nearest right name.",
            "No document speaks of misspelt settings; a wrong name must not trade on the wrong network.",
        ),
        covered(
            "ruling/44",
            "Every prompt is also a kind of one tool.",
            "Prompts offers its analyses to users only; models cannot call prompts.",
        ),
        covered(
            "ruling/45",
            "No call keeps a client longer than 45 seconds; what takes longer is answered with what to do.",
            "Chart tools waits as long as a service asks; clients give up sooner.",
        ),
        covered(
            "ruling/46",
            "Binance's own spellings of arguments are accepted beside ours and not listed.",
            "The documents know one spelling each; assistants know the exchange's.",
        ),
        covered(
            "ruling/47",
            "Secrets of callers are refused on plaintext beyond this machine, on every transport.",
            "Data model hands credentials to any transport; only TLS or this machine may carry them.",
        ),
        covered(
            "ruling/48",
            "Only what must outlive a process is on disk, below one folder of mode 0700, and never a caller's.",
            "Data model forbids to persist sessions; public pasts and trading need a place of their own.",
        ),
    ),
    # Taught by use
    section(
        "ruling",
        covered(
            "ruling/49",
            "A recommendation is printed only if the page's own what-if lowers the expected shortfall.",
            "Prompts asks for recommendations and does not say when one is true.",
        ),
        planned(
            "ruling/50",
            "The flow word is ONE-SIDED, USUAL or NOT JUDGED, and missing data is never printed as a verdict.",
            "Prompts names words that read as signals.",
        ),
        planned(
            "ruling/51",
            "Limits bound the risk that is taken, never an order that does not raise the largest loss.",
            "No document speaks of limits; one that refuses a protective exit does harm.",
        ),
        planned(
            "ruling/52",
            "Paper in a fleet is kept by the lease holder, in its journal and a typed, sealed snapshot in the engine.",
            "Data model knows one process; a fleet needs an owner for each paper account.",
        ),
        covered(
            "ruling/53",
            "Tools take a loose spelling of a symbol where exactly one pair fits, and say which; pages refuse it.",
            "Resources refuses every other spelling; models write what people say.",
        ),
        planned(
            "ruling/54",
            "Words of the product are plain English of the field, and the contract's own texts stay as they are.",
            "The documents have no rule for words beyond their own samples.",
        ),
        planned(
            "ruling/55",
            "Only the operator's own account may have a history on disk, with mode 0600 and under the key's id.",
            "Data model forbids to persist sessions; what the account did must outlive a process.",
        ),
    ),
)
