"""The text of a program that watches a model, with a placeholder where the model goes."""

from __future__ import annotations

from .contents import Contents


def parts(contents: Contents, indent: str, note: str) -> dict[str, object]:
    """Return what every such program has, by the field of its text.

    Parameters
    ----------
    contents : Contents
    indent : str
        One level of indentation.
    note : str
        A comment, {} where its words go.
    """
    name, macro, params = contents.name, contents.macro, contents.params
    buffers = features = before = ""
    argument = "NULL"
    if contents.width:
        wide = "wide_features" if contents.projection else "features"
        buffers = f"static int8_t {name}_{wide}[{macro}_{wide.upper()}];\n"
        said = f"{'Wide features' if contents.projection else 'Features'} as int8, as the model has them."
        features = (
            f"{indent}{note.format(said)}\n"
            f"{indent}for (size_t i = 0; i < {macro}_{wide.upper()}; i++) {{\n"
            f"{indent}{indent}{name}_{wide}[i] = (int8_t)(i % 16u);\n{indent}}}\n"
        )
        argument = f"{name}_features"
    if contents.logits_scale is not None:
        before += f"{indent}tcuq_softmax({name}_softmax, {name}_outputs, {macro}_CLASSES, {name}_outputs);\n"
    if contents.projection is not None:
        buffers += f"static int8_t {name}_features[{macro}_FEATURES];\n"
        before += f"{indent}tcuq_project(&{name}_projection, {name}_wide_features, {name}_features);\n"
    logits = f"Logits as int8, scale {contents.logits_scale:g}." if contents.logits_scale is not None else ""
    return {
        "outputs_text": logits or "Posteriors as an int8 softmax leaves them: scale 1/256, zero point -128.",
        "first": 64,
        "rest": 0 if logits else 64 // max(1, params.classes - 1) - 128,
        "buffers": buffers,
        "features": features,
        "before": before,
        "argument": argument,
    }
