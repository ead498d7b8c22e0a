"""The guide contract: documents addressed under `guide://`."""

from typing import Final

from requirements.record import contract, covered, section

GUIDE: Final = contract(
    "guide",
    # The contract's own headings
    section(
        "requirement",
        covered("guide/uri-scheme-declaration", "Guide documents are MCP resources under their own scheme."),
        covered("guide/uri-pattern-structure", "Five address forms lead to Markdown or to several documents at once."),
        covered("guide/resource-list-response", "The list holds the concrete pages and the templates."),
        covered("guide/resource-read-handler", "A read splits the URI and hands its parts to the content layer."),
        covered("guide/category-document-semantics", "Below a category, exact document and glob both count."),
        covered("guide/document-only-semantics", "A document address never globs; category goes before collection."),
        covered("guide/content-format", "One match is plain Markdown, several are one MIME multipart text."),
        covered("guide/help-content", "The help page is generated and completed by written documentation."),
        covered("guide/error-handling", "Every failed read is an MCP error of a named type."),
    ),
    # Discovery
    section(
        "scenario",
        covered("guide/resource-discovery", "A client that lists resources finds the guide pages and templates."),
        covered("guide/resource-templates-advertised", "The list result carries the guide's URI templates."),
        covered("guide/static-resources-listed", "The help page is among the listed resources."),
        covered("guide/templates-listed", "All four guide templates are among the listed templates."),
    ),
    # The five address forms
    section(
        "scenario",
        covered("guide/help-resource-access", "The help address answers Markdown on how to address the guide."),
        covered("guide/collection-access", "A collection address answers the collection's documents."),
        covered("guide/category-access", "A category address answers what its default patterns match."),
        covered("guide/category-document-access", "A name below a category answers the document, its matches or both."),
        covered("guide/document-only-access", "A document address answers that one document and nothing similar."),
    ),
    # Reading
    section(
        "scenario",
        covered("guide/uri-parsing-success", "A well-formed guide URI is split into type and parameters."),
        covered("guide/invalid-scheme-rejected", "Another scheme is refused with the contract's message."),
        covered("guide/content-delegation", "What a parsed URI names is fetched by the content layer."),
    ),
    # Below a category
    section(
        "scenario",
        covered("guide/document-and-pattern-both-match", "Exact document and glob matches come back together."),
        covered("guide/only-document-matches", "An exact name without other matches comes back alone."),
        covered("guide/only-pattern-matches", "A glob without an exact name comes back with what it matched."),
    ),
    # Document addresses
    section(
        "scenario",
        covered("guide/document-found-in-category", "A context that is a category answers from the category."),
        covered("guide/document-found-in-collection", "A context that is a collection answers from the collection."),
        covered("guide/context-not-found", "A context that is neither is refused with the contract's message."),
    ),
    # Content
    section(
        "scenario",
        covered("guide/single-document-response", "One document is text/markdown, as it is written."),
        covered("guide/multiple-documents-response", "Several documents are one multipart/mixed text."),
        covered("guide/help-content-structure", "The help page explains the patterns and shows examples."),
        covered("guide/help-includes-all-patterns", "The help page leaves no pattern out."),
    ),
    # Failures
    section(
        "scenario",
        covered("guide/invalid-uri-format", "A URI that cannot be taken apart is refused in plain words."),
        covered("guide/resource-not-found", "A good URI to nothing is refused as not found."),
        covered("guide/content-retrieval-error", "A failure of the content layer reaches the client as its error."),
    ),
    # Addresses
    section(
        "format",
        covered("guide/help-pattern", "`guide://help` is the help page."),
        covered("guide/collection-pattern", "`guide://collection/{id}` is a collection."),
        covered("guide/category-pattern", "`guide://category/{name}` is a category."),
        covered("guide/category-document-pattern", "`guide://category/{name}/{docId}` is a document or a glob."),
        covered("guide/document-pattern", "`guide://document/{context}/{docId}` is one document."),
        covered("guide/help-registration", 'The help page is listed as "Guide URI Help", text/markdown.'),
        covered("guide/multipart-boundary", 'The multipart MIME type names the boundary "guide-boundary".'),
        covered("guide/multipart-metadata", "Each part of a multipart text has headers that describe it."),
        covered("guide/help-use-cases", "The help page has an overview, usage per pattern and common uses."),
    ),
    # Order of search
    section(
        "validation rule",
        covered("guide/search-order", "Exact match first, then glob, then both combined."),
        covered("guide/context-order", "A context is looked up as a category first, as a collection second."),
    ),
    # Error types
    section(
        "error",
        covered("guide/error-invalid-scheme", "An unknown scheme has its own error type."),
        covered("guide/error-not-found", "A missing resource has its own error type."),
        covered("guide/error-context-not-found", "A missing context has its own error type."),
        covered("guide/error-content-retrieval", "Content that cannot be fetched has its own error type."),
    ),
)
