"""Commands that read replies of models: ``normalize`` and ``text-calls``."""
