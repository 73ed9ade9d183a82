"""The load client: sends requests from a process of its own and stamps what comes back."""
