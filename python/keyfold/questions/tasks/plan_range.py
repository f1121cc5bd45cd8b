"""The question `plan_range`: a range of partitions of a scan is planned (executor side). What that
takes is not loaded before.
"""

import importlib

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel
from keyfold.questions.serve import plain


def answer(channel: Channel, question: frames.Frame) -> None:
    """Plan the range that question["task"] numbers."""
    planning = importlib.import_module("keyfold.questions.planned_ranges")
    plain(planning.plan_range)(channel, question)
