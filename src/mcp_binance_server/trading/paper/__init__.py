"""Orders on paper: matched here, on the real book and the real tape, never better than those allow."""
