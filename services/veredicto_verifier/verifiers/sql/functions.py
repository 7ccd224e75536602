"""Which functions an answer may call: an allow list, since each release of DuckDB adds some that read files or wait.

A test compares the list with `duckdb_functions()`: every name exists there and none is marked volatile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate

_AGGREGATES = """
any_value approx_count_distinct approx_quantile arbitrary arg_max arg_max_null arg_min arg_min_null argmax argmin
array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if count_star countif covar_pop covar_samp
entropy favg first fsum geomean geometric_mean group_concat histogram kahan_sum kurtosis kurtosis_pop last list listagg
mad max max_by mean median min min_by mode product quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count
regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sum
sumkahan var_pop var_samp variance wavg weighted_avg
"""
_WINDOWS = """
row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
"""
_NUMBERS = """
abs acos acosh add asin asinh atan atan2 atanh bin binom bit_count cbrt ceil ceiling cos cosh cot degrees divide even
exp factorial fdiv floor fmod gamma gcd greatest greatest_common_divisor hex isfinite isinf isnan lcm least
least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power radians round round_even
roundbankers sign signbit sin sinh sqrt subtract tan tanh to_base to_binary to_hex trunc unbin unhex xor
"""
_TEXT = """
ascii base64 bit_length char_length character_length chr concat concat_ws contains decode encode ends_with format
from_base64 from_hex hash ilike_escape instr lcase left left_grapheme length length_grapheme len like_escape lower lpad
ltrim md5 md5_number nfc_normalize not_ilike_escape not_like_escape octet_length ord overlay position prefix printf
regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array
regexp_split_to_table repeat replace reverse right right_grapheme rpad rtrim sha1 sha256 split split_part starts_with
str_split str_split_regex string_split string_split_regex string_to_array strip_accents strlen strpos substr substring
substring_grapheme suffix to_base64 translate trim ucase unicode upper url_decode url_encode
"""
_TIME = """
age century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth
dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear julian last_day
make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz microsecond millennium
millisecond minute month monthname nanosecond quarter second strftime strptime time_bucket timezone timezone_hour
timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds to_minutes
to_months to_quarters to_seconds to_timestamp to_weeks to_years try_strptime week weekday weekofyear year yearweek
"""
_CONDITIONS = """
constant_or_null if nullif typeof pg_typeof can_cast_implicitly cast_to_type enum_code enum_first enum_last enum_range
"""
_NESTED = """
aggregate apply array_aggr array_aggregate array_append array_apply array_cat array_concat array_contains
array_distinct array_extract array_filter array_has array_has_all array_has_any array_indexof array_intersect
array_length array_position array_prepend array_reduce array_reverse array_reverse_sort array_select array_slice
array_sort array_to_string array_transform array_unique array_value array_where array_zip cardinality element_at filter
flatten grade_up list_aggr list_aggregate list_any_value list_append list_apply list_avg list_bool_and list_bool_or
list_cat list_concat list_contains list_count list_distinct list_element list_extract list_filter list_first list_has
list_has_all list_has_any list_indexof list_intersect list_last list_max list_median list_min list_mode list_pack
list_position list_prepend list_product list_reduce list_resize list_reverse list_reverse_sort list_select list_slice
list_sort list_stddev_pop list_stddev_samp list_string_agg list_sum list_transform list_unique list_value
list_var_pop list_var_samp list_where list_zip map map_concat map_contains map_entries map_extract map_extract_value
map_from_entries map_keys map_values range generate_series reduce row struct_concat struct_contains struct_extract
struct_extract_at struct_insert struct_keys struct_pack struct_update struct_values unnest unpivot_list
generate_subscripts json json_array json_array_length json_contains json_each json_exists json_extract json_extract_path
json_extract_path_text json_extract_string json_group_array json_group_object json_keys json_object json_quote
json_structure json_tree json_type json_valid json_value row_to_json to_json array_to_json
"""

ALLOWED: frozenset[str] = frozenset(
    " ".join((_AGGREGATES, _WINDOWS, _NUMBERS, _TEXT, _TIME, _CONDITIONS, _NESTED)).split()
)
"""Functions an answer may call, lower case."""

OPERATOR = frozenset("+-*/%^&|~!<>=@#$?:")
"""What the name of an operator (`+`, `||`, `~~`) begins with; operators are always allowed."""

BY_NAME = frozenset({"list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"})
"""Functions that call another one whose name is their second argument."""

VOLATILE: frozenset[str] = frozenset(
    """
    random uuid gen_random_uuid uuidv4 uuidv7 setseed now today get_current_time get_current_timestamp
    current_localtime current_localtimestamp transaction_timestamp ago txid_current current_transaction_id
    current_query_id current_connection_id nextval currval setval current_date current_time current_timestamp
    localtime localtimestamp reservoir_quantile
    """.split()
)
"""Functions and keywords whose value differs between two runs."""

CLOCK_WORDS = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})
"""Keywords that DuckDB's parser leaves as column names and its binder turns into the clock."""

SESSION_WORDS = frozenset({"current_user", "current_role", "session_user", "current_schema", "current_catalog"})
"""The same for the session: names that are no data."""

METADATA = re.compile(
    r"^(duckdb_|pragma_|pg_(?!sleep$|typeof$)|sqlite_|information_schema|current_setting|getvariable|sniff_csv|which_)"
)
"""Names that read the catalog or the settings instead of the data."""

GIANT_MAKERS = frozenset({"repeat", "lpad", "rpad", "range", "generate_series", "list_resize", "format", "printf"})
"""Functions that turn a small number into a giant value, which DuckDB builds without looking at its interrupt flag."""

GIANT = 1_000_000
"""The largest number that may stand in an argument of those."""

_STRINGS_AND_COMMENTS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_WORDS = re.compile(r"[a-z_][a-z0-9_]*")


def refused(names: Iterable[str], defined: frozenset[str]) -> list[str]:
    """The names, sorted, that an answer may not call; `defined` are the macros of the fixture."""
    return sorted(name for name in names if name[:1] not in OPERATOR and name not in ALLOWED | defined)


def opens_deeper(sql: str, levels: int) -> bool:
    """Whether more than `levels` parentheses are open at once; those in strings and comments do not count."""
    if sql.count("(") <= levels:
        return False
    return max(accumulate({"(": 1, ")": -1}.get(one, 0) for one in _STRINGS_AND_COMMENTS.sub(" ", sql))) > levels


def volatile_words(script: str) -> list[str]:
    """Volatile functions and keywords in a fixture script, sorted; strings and comments do not count."""
    code = _STRINGS_AND_COMMENTS.sub(" ", script.lower())
    called = {found for found in _WORDS.findall(code) if found in VOLATILE}
    return sorted(word for word in called if word in CLOCK_WORDS or re.search(rf"\b{word}\s*\(", code))
