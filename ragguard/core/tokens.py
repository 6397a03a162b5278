"""How many tokens a text may take, without any provider's tokenizer: on the high side, for limits and budgets."""

from __future__ import annotations

_ASCII_PER_TOKEN = 3.5
_OTHERS_PER_TOKEN = 0.9
_PER_MESSAGE = 16


def estimated_tokens(text: str) -> int:
    """Estimates the tokens of a text, rather too many than too few.

    ASCII text takes about four characters a token, Chinese about one, Vietnamese between them.

    Returns:
        Tokens, at least 16 (what a message takes by itself).
    """
    others = len(text) - len(text.encode("ascii", "ignore"))
    return _PER_MESSAGE + round((len(text) - others) / _ASCII_PER_TOKEN + others / _OTHERS_PER_TOKEN)
