"""The requirements of the five contract documents, as data: `requirements.manifest` has them all."""
