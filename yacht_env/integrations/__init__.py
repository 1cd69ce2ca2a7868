"""Adapters to other libraries; each module imports its library, and nothing else imports the modules."""
