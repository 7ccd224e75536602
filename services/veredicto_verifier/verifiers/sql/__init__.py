"""Judge SQL by running it: hardened DuckDB, open fixtures, results compared as bags of rows."""

from veredicto_verifier.verifiers.sql.verifier import VERIFIER

__all__ = ["VERIFIER"]
