"""Assignment of rows to windows, for each kind of window, key and time zone."""
