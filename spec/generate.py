"""Writes the files that repeat the constants, the exclusions, the texts of errors and Python's API.

Run ``make generate`` after a change in this folder.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
Table = Mapping[str, Any]
_WARNING = "Generated from ``spec/constants.json`` by ``make generate``."


def files() -> dict[Path, str]:
    """Return the contents of all generated files, by path from the root of the repository."""
    constants = json.loads((HERE / "constants.json").read_text(encoding="utf-8"))
    errors = (HERE / "error-conditions.json").read_text(encoding="utf-8")
    exclusions = (HERE / "exclusions.json").read_text(encoding="utf-8")
    table = json.loads(exclusions)
    engine = Path("jvm/engine/src/main/scala/transom/engine")
    return {
        Path("python/transom/_base/constants.py"): _python(constants),
        Path("python/transom/error-conditions.json"): errors,
        Path("python/transom/exclusions.json"): exclusions,
        engine / "setting/Constants.scala": _scala(constants),
        engine / "spec/Exclusions.scala": _scala_exclusions(table),
        Path("spec/sql-functions.json"): _sql(),
        Path("docs/errors.md"): _errors(json.loads(errors)) + _exclusions(table),
    }


def _sql() -> str:
    """Return the functions of SQL, which follow from the values of Python."""
    sys.path.insert(0, str(ROOT / "python"))
    from spec import sql

    return sql.text(HERE)


def _python(constants: Mapping[str, Mapping[str, object]]) -> str:
    lines = ['"""Constants that Python and the JVM share.', "", f"{_WARNING}", '"""', ""]
    for name, constant in constants.items():
        lines += [f"# {constant['about']}", f"{name.upper()} = {_literal(constant['value'])}"]
    return "\n".join(lines) + "\n"


def _scala(constants: Mapping[str, Mapping[str, object]]) -> str:
    lines = [
        "package transom.engine.setting",
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


def _scala_exclusions(table: Table) -> str:
    """Return the table for the engine. A row begins with the settings that the message names."""
    settings = table["settings"]
    lines = [
        "package transom.engine.spec",
        "",
        "// format: off",
        "/** Settings of a window operator that exclude each other.",
        "  *",
        "  * Generated from `spec/exclusions.json` by `make generate`.",
        "  */",
        "private[spec] object Exclusions {",
        "",
        "  /** A setting of the table: how users write it, and its field in the message. */",
        "  sealed abstract class Setting(val text: String, val field: String)",
        "",
    ]
    for name, setting in settings.items():
        arguments = f"{_literal(setting['text'])}, {_literal(setting.get('field', 'window'))}"
        lines += [
            f"  /** {setting['about']} */",
            f"  case object {_scala_name(name)} extends Setting({arguments})",
        ]
    lines += [
        "",
        "  /** Each of the settings excludes each of the others. The message is wrong in the field",
        "    * of the setting. `<window>` in a text stands for the kind of a window.",
        "    */",
        "  final case class Exclusion(",
        "      settings: Seq[Setting],",
        "      others: Seq[Setting],",
        "      why: String,",
        '      condition: String = "CONFLICT")',
        "",
        "  /** All rows of the table, in the order in which they are checked. */",
        "  val All: Seq[Exclusion] = Seq(",
    ]
    rows = []
    for row in table["exclusions"]:
        sides = [row["settings"], row["others"]]
        if any("field" not in settings[name] for name in row["settings"]):
            sides.reverse()
        one, other = (f"Seq({', '.join(map(_scala_name, names))})" for names in sides)
        named = f", {_literal(row['condition'])}" if "condition" in row else ""
        rows.append(f"    Exclusion({one}, {other}, {_literal(row['why'])}{named})")
    return "\n".join([*lines, ",\n".join(rows) + ")", "}"]) + "\n"


def _scala_name(name: str) -> str:
    return name.title().replace("_", "")


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


def _exclusions(table: Table) -> str:
    """Return the section of the page of errors with all settings that exclude each other."""

    def cell(names: Sequence[str]) -> str:
        return ", ".join(table["settings"][name]["about"] for name in names)

    lines = [
        "",
        "## Settings that exclude each other",
        "",
        "Each setting of the first column excludes each setting of the second column. The error is",
        "`TRANSOM_CONFLICT`, unless the row names another one. `<window>` stands for the window.",
        "",
        "| setting | excludes | because |",
        "|---|---|---|",
    ]
    for row in table["exclusions"]:
        why = row["why"].replace("<window>", "`<window>`")
        named = f" (`TRANSOM_{row['condition']}`)" if "condition" in row else ""
        lines.append(f"| {cell(row['settings'])} | {cell(row['others'])} | {why}{named} |")
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    # A JSON string is a valid literal in both languages, and so is a JSON number.
    return json.dumps(value)


def main() -> None:
    """Write all generated files."""
    for path, text in files().items():
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
