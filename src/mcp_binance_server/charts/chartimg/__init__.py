"""Client of chart-img.com with its rate limits and the parser of its documentation."""
