"""Recorded answers from a JSON Lines file, plain or packed, on this machine, in a bucket or on the web."""

from __future__ import annotations

from collections.abc import Mapping

from ragguard.adapters.addresses import DEFAULT_ACCESS, Access
from ragguard.adapters.rowfiles import RowFile
from ragguard.adapters.spooled import answer_spool
from ragguard.core.fields import FieldMapping, Problem, shown
from ragguard.core.rows import RowReader
from ragguard.core.samples import Answer


def load_answers(uri: str, fields: FieldMapping | None = None, access: Access = DEFAULT_ACCESS) -> Mapping[str, Answer]:
    """Reads recorded answers.

    Args:
        uri: Path or URL of a file of {id, answer, contexts?, citations?, latency_s?, cost_usd?} rows; names have the
            same aliases as in a data set, other fields are ignored. Without id, it is derived from the question.
        fields: The data set's mapping; here a mapped field may stand under its own names as well.
        access: What may be reached.

    Returns:
        Sample id -> answer, in file order; read from disk when it is asked for.

    Raises:
        ConfigError: The address cannot be used, or the mapping is wrong.
        ObjectNotFoundError: There is no such file.
        ObjectError: It cannot be read.
        DatasetError: Rows are wrong or repeated, or there are none; `details` names up to 20.
    """
    file, reader = RowFile(uri, access), RowReader(fields)
    found = answer_spool()
    lines: dict[str, int] = {}
    for line, (id_, answer) in file.read(lambda row, _: reader.answer(row)):
        if id_ in found:
            file.note(line, Problem("id", f"{shown(id_)} stands already in line {lines[id_]}; keep one answer"))
        else:
            found[id_], lines[id_] = answer, line
    file.finish("answers file")
    return found
