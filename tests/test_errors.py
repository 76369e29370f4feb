"""The tree in the docstring is the tree in the code, and every class says what it means."""

from __future__ import annotations

import inspect
import re

from pincite import errors


def classes() -> dict[str, type]:
    return {n: c for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, errors.PinciteError)}


def test_the_drawn_tree_is_complete() -> None:
    drawn = re.findall(r"^[│├└─ ]*([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE)
    assert set(drawn) - {"Every"} == set(classes())


def test_exit_codes() -> None:
    for cls in classes().values():
        expected = 2 if issubclass(cls, errors.UsageError) else 3 if issubclass(cls, errors.SourceError) else 4
        assert cls.exit_code == expected
        assert cls.__doc__


def test_an_error_carries_its_way_out() -> None:
    error = errors.PathMissing("There is no x.", fix="Check the path.")
    assert (str(error), error.fix) == ("There is no x.", "Check the path.")
