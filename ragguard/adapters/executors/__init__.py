"""What runs work items: this process, or a cluster."""
