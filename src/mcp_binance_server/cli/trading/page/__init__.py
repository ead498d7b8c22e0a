"""The approval page: a local web page for one order, until a person decides."""
