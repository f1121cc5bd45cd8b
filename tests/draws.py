"""How often random tests draw: `HYPOTHESIS_PROFILE=thorough` draws forty times as often."""

from hypothesis import settings

USUAL = 50  # examples of conftest's profile


def times(count: int) -> int:
    """So many, of what takes too long to be done as often as usual."""
    return count * settings.default.max_examples // USUAL


def draws(count: int) -> settings:
    """The decorator of a test of hypothesis that takes so many examples."""
    return settings(max_examples=times(count))
