"""Worker processes that run jobs under limits."""
