"""Mutants of `python-core` that no test can kill, since they compute the same: what `pack check` still lists, and why.

Every other mutant that the check makes of a reference fails the task's cases.
"""

from __future__ import annotations

EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("rotate_text", "1", "number"): "of an empty text every rotation is empty",
    ("rotate_text", "3", "number"): "of an empty text every rotation is empty",
    ("rotate_text", "7", "number"): "of an empty text every rotation is empty",
    ("column", "0", "boundary"): "a line that was split has a field number 0",
    ("sum_numbers", "0", "boundary"): "a 0 adds nothing",
    ("round_to", "10", "number"): "half of 11, rounded down, is half of 10",
    ("round_to", "50", "number"): "half of 51, rounded down, is half of 50",
    ("round_to", "100", "number"): "half of 101, rounded down, is half of 100",
    ("with_tax", "8", "number"): "the numerator is even, so one more never reaches the next hundred",
    ("with_tax", "16", "number"): "the numerator is even, so one more never reaches the next hundred",
    ("net_of_tax", "8", "number"): "numerator and denominator are even, so one more never reaches the next whole",
    ("net_of_tax", "16", "number"): "numerator and denominator are even, so one more never reaches the next whole",
    ("bracket_tax", "5", "number"): "a cent more in the middle bracket is rounded down in every case",
    ("bracket_tax", "10", "number"): "a cent more in the middle bracket is rounded down in every case",
    ("bracket_tax", "15", "number"): "below 10001 a middle part of 1 is taxed less than a cent",
    ("month_end", "0", "operator"): "0 added is 0 taken away",
    ("overdue", "0", "operator"): "0 added is 0 taken away",
    ("age_on", "01-01", "text"): "no day of five characters lies between the day and the day with an x",
    ("age_on", "06-15", "text"): "no day of five characters lies between the day and the day with an x",
    ("age_on", "12-31", "text"): "no day of five characters lies between the day and the day with an x",
    ("age_on", "12-31", "operator"): "no day is after December 31, so nothing is added or taken away",
}
"""By English function name, parameter and kind of mutant: why it is the same program."""
