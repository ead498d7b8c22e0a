"""A simulated market of USDⓈ-M futures, on top of the simulated spot market."""
