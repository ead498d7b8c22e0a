"""Sessions of connected clients: a limited number, each until its idle timeout, with nothing left behind."""
