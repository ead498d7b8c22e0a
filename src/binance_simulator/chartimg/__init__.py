"""The simulated chart-img.com: its catalog, its rules and its images."""
