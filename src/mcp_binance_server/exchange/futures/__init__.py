"""Public data of USDⓈ-M futures: contracts, funding, open interest, positioning. Nothing here is ever signed."""
