"""The scripted model's address and the command that starts the server."""

import os

MODEL_URL = os.environ["MODEL_URL"]
CHAT_URL = f"{MODEL_URL}/v1"
SERVER = os.environ["SERVER"]
PROMPT = "Use the tools."
