"""Judge SQL by running it: hardened DuckDB, open fixtures, results compared as bags of rows."""

from veredicto_verifier.verifiers.sql.verifier import SQL

__all__ = ["SQL"]
