"""The text of a call, for errors and for the `repr` of values and builders."""


def call_text(name: str, /, *arguments: object, **keywords: object) -> str:
    """Return the text of a call.

    Examples
    --------
    >>> call_text("key_by", "origin", strict=True)
    "key_by('origin', strict=True)"
    """
    shown = [repr(argument) for argument in arguments]
    shown += [f"{keyword}={value!r}" for keyword, value in keywords.items()]
    return f"{name}({', '.join(shown)})"
