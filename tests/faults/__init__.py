"""What happens when a part outside breaks: every fault, its outcome, and what is kept."""
