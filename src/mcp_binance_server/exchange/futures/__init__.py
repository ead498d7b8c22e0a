"""Public data of USDⓈ-M futures: contracts, funding, open interest, positioning. No call here is signed."""
