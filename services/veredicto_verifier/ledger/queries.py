"""The SQL of the ledger's questions, over the segments of all writers as DuckDB reads them."""

from __future__ import annotations

_LINES = """
    SELECT * REPLACE (coalesce(phase, 'train') AS phase, coalesce(cached, false) AS cached), CASE
        WHEN error IS NULL THEN 'scored' WHEN error LIKE 'infra.%' THEN 'infra_error' ELSE 'invalid_task' END AS outcome
    FROM read_json($files, format = 'newline_delimited', ignore_errors = true, columns = {
        n: 'BIGINT', t: 'BIGINT', run: 'VARCHAR', step: 'BIGINT', phase: 'VARCHAR', category: 'VARCHAR',
        verifier: 'VARCHAR', reward: 'DOUBLE', passed: 'BOOLEAN', error: 'VARCHAR', cached: 'BOOLEAN',
        flags: 'VARCHAR[]', checks: 'STRUCT(name VARCHAR, code VARCHAR)[]'
    }) WHERE n > 0
"""

RUNS = f"""
    SELECT run, count(DISTINCT step), count(*), avg(reward), count(*) FILTER (outcome = 'scored'),
        count(*) FILTER (outcome = 'invalid_task'), count(*) FILTER (outcome = 'infra_error'), min(t), max(t)
    FROM ({_LINES}) GROUP BY run ORDER BY max(t) DESC, run
"""

ONE_RUN = f"CREATE TEMP TABLE one_run AS SELECT * FROM ({_LINES}) WHERE run = $run"

TOTALS = """
    SELECT count(*), count(reward), avg(reward), count(*) FILTER (passed), count(*) FILTER (cached), min(t), max(t)
    FROM one_run
"""
STEPS = """
    SELECT phase, step, count(*), count(reward), avg(reward), count(*) FILTER (passed)
    FROM one_run GROUP BY phase, step ORDER BY phase = 'train' DESC, phase, step
"""
CATEGORIES = """
    SELECT category, count(*), count(reward), avg(reward), count(*) FILTER (passed)
    FROM one_run GROUP BY category ORDER BY 2 DESC, category
"""
OUTCOMES = "SELECT outcome, count(*) FROM one_run GROUP BY outcome ORDER BY 2 DESC, outcome"
VERIFIERS = "SELECT verifier, count(*) FROM one_run WHERE verifier IS NOT NULL GROUP BY verifier ORDER BY 2 DESC, 1"
CODES = """
    SELECT code, count(*) FROM (
        SELECT unnest(list_distinct([check_.code FOR check_ IN checks])) AS code FROM one_run
        UNION ALL SELECT error FROM one_run
    ) WHERE code IS NOT NULL GROUP BY code ORDER BY 2 DESC, code LIMIT 20
"""
FLAGS = """
    SELECT flag, count(*) FROM (SELECT unnest(list_distinct(flags)) AS flag FROM one_run)
    GROUP BY flag ORDER BY 2 DESC, flag
"""

_FIELDS = """
    SELECT json, filename, json_transform(json, '{
        "n": "BIGINT", "t": "BIGINT", "run": "VARCHAR", "step": "BIGINT", "phase": "VARCHAR", "group": "VARCHAR",
        "verifier": "VARCHAR", "error": "VARCHAR", "checks": [{"code": "VARCHAR"}]}') AS f
    FROM read_json_objects($files, format = 'newline_delimited', filename = true, ignore_errors = true)
"""

FILTERS = {
    "run": "f.run = $run",
    "step": "f.step = $step",
    "phase": "coalesce(f.phase, 'train') = $phase",
    "group": """f."group" = $group""",
    "verifier": "f.verifier = $verifier",
    "code": "(f.error = $code OR list_contains([check_.code FOR check_ IN f.checks], $code))",
    "outcome": """$outcome = CASE WHEN f.error IS NULL THEN 'scored'
        WHEN f.error LIKE 'infra.%' THEN 'infra_error' ELSE 'invalid_task' END""",
    "digest": "contains(json, '\"' || $digest || '\"')",
    "cursor": "(f.t, parse_filename(filename), f.n) < ($cursor_t, $cursor_file, $cursor_n)",
}
"""The condition for each field of a `RecordFilter`."""


def records(names: list[str]) -> str:
    """The statement for one page of records, newest first, under the named conditions of `FILTERS`."""
    conditions = " AND ".join(["f.n > 0", *(FILTERS[name] for name in names)])
    return f"""
        SELECT json, filename FROM ({_FIELDS}) WHERE {conditions}
        ORDER BY f.t DESC, parse_filename(filename) DESC, f.n DESC LIMIT $limit
    """
