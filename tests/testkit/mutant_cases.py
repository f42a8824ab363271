"""The kit over each spoiled folder connector; run by `test_matrix.py`."""

from __future__ import annotations

from tests.testkit.mutants import MUTANTS
from tests.testkit.test_folder_passes import FolderTests

for _name in MUTANTS:
    globals()[f"Test{_name}"] = type(
        f"Test{_name}",
        (FolderTests,),
        {"factory": f"tests.testkit.mutants:spec_{_name}", "__module__": __name__, "__test__": True},
    )
