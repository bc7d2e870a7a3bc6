"""Constants that Python and the JVM share.

Generated from ``spec/constants.json`` by ``make generate``.
"""

# Version of the message. A jar reads only this version.
MESSAGE_VERSION = 5
# Longest duration that a user may set, in days.
LONGEST_DURATION_DAYS = 10000000
# Largest number of windows that a row may be assigned to.
MOST_WINDOWS_PER_ROW = 10000000
# Largest number of calendar units in a window. This many years fit into microseconds.
MOST_CALENDAR_UNITS = 100000
# Regular expression of the names that a window operator may have.
OPERATOR_NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
# Prefix of the columns that transom adds to rows.
HIDDEN_PREFIX = "__transom"
# Struct column with the older of the two rows that a distance function compares.
OLDER_ROW = "__transom_older"
# Struct column with the newer of the two rows that a distance function compares.
NEWER_ROW = "__transom_newer"
# SQL function behind `reduce`.
REDUCE_FUNCTION = "__transom_reduce"
# SQL function that identifies the accumulator of a row.
PLACE_FUNCTION = "__transom_place"
# SQL function that collects the accumulators of a window for Python.
PARTS_FUNCTION = "__transom_parts"
# SQL function behind `Windowed.top`.
TOP_FUNCTION = "__transom_top"
# Name of the column with the rank of a row in the results of `Windowed.top`.
RANK_COLUMN = "rank"
# Prefix of the columns with a key that a function receives. The name of the key follows.
CALL_KEY_PREFIX = "key:"
# Metadata of a field that stands for the column of a window operator with its name.
COLUMN_OF = "transom.column"
