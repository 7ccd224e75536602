"""Running untrusted programs: one process each, confined, driven over a pipe by the judge."""
