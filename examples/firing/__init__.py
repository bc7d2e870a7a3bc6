"""When a window fires and which of its rows it keeps."""
