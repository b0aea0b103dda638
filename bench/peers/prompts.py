"""Prompts of random token ids: no prefix to share, nothing to look up, the same for the same seed."""

import random

# Plain text in every vocabulary we know: past the control tokens, and no vocabulary is smaller.
IDS = range(1_000, 30_000)


def random_prompt(tokens, seed, index):
    return random.Random(f"{seed} {index}").choices(IDS, k=tokens)
