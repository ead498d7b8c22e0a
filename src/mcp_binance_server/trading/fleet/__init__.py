"""Trading by several workers on one account: claims and limits in the shared state, a journal per worker."""
