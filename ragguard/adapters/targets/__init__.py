"""Where answers come from: recorded, or from the live RAG app."""
