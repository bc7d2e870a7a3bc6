"""Writes the files that repeat what ``constants.json`` and the texts of errors say.

Run ``make generate`` after a change in this folder.
"""

import json
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
_WARNING = "Generated from ``spec/constants.json`` by ``make generate``."


def files() -> dict[Path, str]:
    """Return the contents of all generated files, by path from the root of the repository."""
    constants = json.loads((HERE / "constants.json").read_text(encoding="utf-8"))
    errors = (HERE / "error-conditions.json").read_text(encoding="utf-8")
    engine = Path("jvm/engine/src/main/scala/transom/engine/spec")
    return {
        Path("python/transom/_base/constants.py"): _python(constants),
        Path("python/transom/error-conditions.json"): errors,
        engine / "Constants.scala": _scala(constants),
        Path("docs/errors.md"): _errors(json.loads(errors)),
    }


def _python(constants: Mapping[str, Mapping[str, object]]) -> str:
    lines = ['"""Constants that Python and the JVM share.', "", f"{_WARNING}", '"""', ""]
    for name, constant in constants.items():
        lines += [f"# {constant['about']}", f"{name.upper()} = {_literal(constant['value'])}"]
    return "\n".join(lines) + "\n"


def _scala(constants: Mapping[str, Mapping[str, object]]) -> str:
    lines = [
        "package transom.engine.spec",
        "",
        "/** Constants that Python and the JVM share.",
        "  *",
        f"  * {_WARNING.replace('``', '`')}",
        "  */",
        "object Constants {",
    ]
    for name, constant in constants.items():
        scala_name = name.title().replace("_", "")
        lines += [
            "",
            f"  /** {constant['about']} */",
            f"  final val {scala_name} = {_literal(constant['value'])}",
        ]
    return "\n".join([*lines, "}"]) + "\n"


def _errors(conditions: Mapping[str, Mapping[str, object]]) -> str:
    """Return the page of errors: each text, with an example from ``error-examples.json``."""
    examples = json.loads((HERE / "error-examples.json").read_text(encoding="utf-8"))
    parts = [(HERE / "errors-head.md").read_text(encoding="utf-8")]
    for topic, entries in examples.items():
        parts.append(f"## {topic}\n")
        for name, example in entries.items():
            message = "\n".join(conditions[name]["message"])  # type: ignore[arg-type]
            parts.append(f"### {name}\n\n```text\n{message}\n```\n")
            if "when" in example:
                parts.append(f"- **Example:** {example['when']}\n- **Fix:** {example['fix']}\n")
            else:
                wrong, right = example["wrong"], example["right"]
                parts.append(f"```py\n# Wrong:\n{wrong}\n# Right:\n{right}\n```\n")
    return "\n".join(parts)


def _literal(value: object) -> str:
    # A JSON string is a valid literal in both languages, and so is a JSON number.
    return json.dumps(value)


def main() -> None:
    """Write all generated files."""
    for path, text in files().items():
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
