"""Admission of HTTP requests: host checks, body limits, API keys, and refusals."""
