"""What perpetuals and quarterlies say: funding, open interest, basis, positioning, liquidations."""
