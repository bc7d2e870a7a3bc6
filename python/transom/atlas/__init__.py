"""A preset with the words, defaults and limits of MongoDB Atlas Stream Processing.

Names and arguments are those of Atlas. Durations are written as in its JSON, for example
``{"size": 3, "unit": "minute"}``. The methods of `transom.Windowed` compute what the pipeline of a
window computes in Atlas.
"""

from transom.atlas.results import stream_meta
from transom.atlas.source import stream
from transom.atlas.windows import hoppingWindow, sessionWindow, tumblingWindow

__all__ = ["hoppingWindow", "sessionWindow", "stream", "stream_meta", "tumblingWindow"]
