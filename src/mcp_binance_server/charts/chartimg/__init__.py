"""chart-img.com on the wire: its documentation, its limits, its pictures."""
