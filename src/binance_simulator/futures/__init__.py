"""A simulated market of USDⓈ-M futures, derived from the simulated spot market."""
