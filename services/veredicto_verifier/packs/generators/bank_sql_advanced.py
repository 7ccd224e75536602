"""Question templates of bank-sql: windows, subqueries, dates and set operations."""

from __future__ import annotations

from veredicto_verifier.packs.generators import bank_sql_slots as s
from veredicto_verifier.packs.generators.bank_sql_slots import Template

WINDOW = (
    Template(
        "rank-in-branch", "window", 0.6,
        "SELECT account_id, branch_id, RANK() OVER (PARTITION BY branch_id ORDER BY balance DESC) AS place "
        "FROM accounts WHERE product = '{product}' AND currency = '{currency}'",
        "For each {product} account in {currency}: its number, its branch and its place by balance in the branch, "
        "highest first; equal balances share a place and the next place is left out.",
        "Para cada cuenta {product} en {currency}: su número, su sucursal y su puesto por saldo en la "
        "sucursal, de mayor "
        "a menor; saldos iguales comparten puesto y el siguiente se salta.",
        {"product": s.ACCOUNT_PRODUCT, "currency": s.CURRENCY},
    ),
    Template(
        "top-of-branch", "window", 0.7,
        "SELECT branch_id, account_id, balance FROM accounts WHERE currency = '{currency}' AND balance {op} "
        "{x} QUALIFY "
        "ROW_NUMBER() OVER (PARTITION BY branch_id ORDER BY balance, account_id) <= {n}",
        "For each branch the {n} {currency} accounts with the smallest balance among those with {op} {x} (ties by "
        "account number): branch, account number and balance.",
        "Por sucursal, las {n} cuentas en {currency} de menor saldo entre las que tienen {op} {x} (a igual saldo, por "
        "número de cuenta): sucursal, número de cuenta y saldo.",
        {"currency": s.CURRENCY, "op": s.UP, "x": s.values("500", "1000"), "n": s.FEW},
    ),
    Template(
        "running-total", "window", 0.7,
        "SELECT movement_id, SUM(amount) OVER (PARTITION BY account_id ORDER BY posted_at, movement_id) AS running "
        "FROM movements WHERE kind = '{kind}' AND amount {op} {x}",
        "For each {kind} movement of {op} {x}: its number and the running total of these movements on its account, in "
        "order of time, then of movement number.",
        "Para cada movimiento {kind} de {op} {x}: su número y el total acumulado de esos movimientos en su cuenta, por "
        "orden de fecha y hora y luego de número.",
        {"kind": s.KIND, "op": s.OP, "x": s.numbers("movements.amount")},
    ),
    Template(
        "change-of-amount", "window", 0.8,
        "SELECT movement_id, amount - LAG(amount) OVER (PARTITION BY account_id ORDER BY posted_at, movement_id) "
        "AS change FROM movements WHERE channel = '{channel}' AND amount {op} {x}",
        "For each movement by {channel} of {op} {x}: its number and by how much its amount differs from that of the "
        "previous such movement on the account (by time, then number); empty for the first.",
        "Para cada movimiento por {channel} de {op} {x}: su número y cuánto difiere su importe del movimiento así "
        "anterior de la cuenta (por fecha y hora, luego número); vacío en el primero.",
        {"channel": s.CHANNEL, "op": s.OP, "x": s.numbers("movements.amount")},
    ),
    Template(
        "share-of-currency", "window", 0.7,
        "SELECT account_id, ROUND(100.0 * balance / SUM(balance) OVER (PARTITION BY currency), 4) AS share "
        "FROM accounts WHERE status = '{status}' AND balance {op} {x}",
        "For each {status} account of {op} {x}: its number and its share of the total balance of such accounts in its "
        "currency, in percent with 4 decimals.",
        "Para cada cuenta {status} de {op} {x}: su número y su parte del saldo total de esas cuentas en su moneda, en "
        "por ciento con 4 decimales.",
        {"status": s.ACCOUNT_STATUS, "op": s.OP, "x": s.numbers("balance")},
    ),
    Template(
        "above-branch-average", "window", 0.8,
        "SELECT loan_id, principal FROM (SELECT loan_id, principal, AVG(principal) OVER (PARTITION BY branch_id, "
        "product) AS usual FROM loans WHERE status <> '{status}') AS t WHERE principal {op} usual",
        "Number and principal of the loans, among those that are not {status}, whose principal is {op} the average "
        "of such loans of the same branch and product.",
        "Número y capital de los préstamos, entre los que no están {status}, cuyo capital es {op} el promedio de esos "
        "préstamos de la misma sucursal y producto.",
        {"status": s.LOAN_STATUS, "op": s.OP},
    ),
    Template(
        "order-of-arrival", "window", 0.6,
        "SELECT customer_id, DENSE_RANK() OVER (PARTITION BY country ORDER BY since) AS arrival FROM customers "
        "WHERE segment = '{segment}' AND risk_score {op} {x}",
        "For each {segment} customer with a risk score of {op} {x}: the number and the place in the order of joining "
        "within the country; the same day is the same place and no place is left out.",
        "Para cada cliente {segment} con puntaje de riesgo de {op} {x}: su número y su puesto por orden de alta en su "
        "país; el mismo día es el mismo puesto y no se salta ninguno.",
        {"segment": s.SEGMENT, "op": s.OP, "x": s.numbers("risk_score")},
    ),
    Template(
        "moving-average", "window", 0.9,
        "SELECT movement_id, AVG(amount) OVER (PARTITION BY account_id ORDER BY posted_at, movement_id "
        "ROWS BETWEEN {n} PRECEDING AND CURRENT ROW) AS average FROM movements WHERE kind <> '{kind}'",
        "For each movement that is not {kind}: its number and the average amount of it and the up to {n} "
        "such movements "
        "before it on the account, by time, then number.",
        "Para cada movimiento que no es {kind}: su número y el importe promedio de él y de hasta {n} movimientos así "
        "anteriores de la cuenta, por fecha y hora, luego número.",
        {"n": s.values("1", "2"), "kind": s.KIND},
    ),
)  # fmt: skip

SUBQUERY = (
    Template(
        "above-average", "subquery", 0.5,
        "SELECT account_id, balance FROM accounts WHERE product = '{product}' AND balance > (SELECT AVG(balance) "
        "FROM accounts WHERE currency = '{currency}')",
        "Number and balance of the {product} accounts with more than the average balance of the {currency} accounts.",
        "Número y saldo de las cuentas {product} con más que el saldo promedio de las cuentas en {currency}.",
        {"product": s.ACCOUNT_PRODUCT, "currency": s.CURRENCY},
    ),
    Template(
        "customers-without-account", "subquery", 0.6,
        "SELECT customer_id, name FROM customers AS c WHERE segment = '{segment}' AND NOT EXISTS (SELECT 1 FROM "
        "accounts AS a WHERE a.customer_id = c.customer_id AND a.status = '{status}' AND a.balance {op} {x})",
        "Number and name of the {segment} customers without any {status} account of {op} {x}.",
        "Número y nombre de los clientes {segment} sin ninguna cuenta {status} de {op} {x}.",
        {"segment": s.SEGMENT, "status": s.ACCOUNT_STATUS, "op": s.OP, "x": s.values("500", "2500")},
    ),
    Template(
        "customers-with-loan", "subquery", 0.5,
        "SELECT customer_id, city FROM customers WHERE country <> '{country}' AND customer_id IN (SELECT customer_id "
        "FROM loans WHERE principal {op} {x})",
        "Number and city of the customers outside {country} with a loan of {op} {x}.",
        "Número y ciudad de los clientes fuera de {country} con un préstamo de {op} {x}.",
        {"country": s.COUNTRY, "op": s.OP, "x": s.numbers("principal")},
    ),
    Template(
        "largest-of-customer", "subquery", 0.7,
        "SELECT account_id, customer_id, balance FROM accounts AS a WHERE currency = '{currency}' AND "
        "balance = (SELECT "
        "MAX(balance) FROM accounts AS b WHERE b.customer_id = a.customer_id AND b.status <> '{status}')",
        "Account number, customer number and balance of the {currency} accounts that hold the largest balance among "
        "their customer's accounts (in any currency) that are not {status}.",
        "Número de cuenta, número de cliente y saldo de las cuentas en {currency} que tienen el mayor saldo entre las "
        "cuentas de su cliente (en cualquier moneda) que no están {status}.",
        {"currency": s.CURRENCY, "status": s.ACCOUNT_STATUS},
    ),
    Template(
        "count-per-branch", "subquery", 0.6,
        "SELECT b.branch_id, (SELECT COUNT(*) FROM accounts AS a WHERE a.branch_id = b.branch_id AND "
        "a.balance {op} {x} "
        "AND a.product = '{product}') AS accounts FROM branches AS b",
        "For every branch its number and how many {product} accounts of {op} {x} it has.",
        "Para cada sucursal, su número y cuántas cuentas {product} de {op} {x} tiene.",
        {"op": s.OP, "x": s.numbers("balance"), "product": s.ACCOUNT_PRODUCT},
    ),
    Template(
        "totals-over", "subquery", 0.7,
        "WITH totals AS (SELECT account_id, SUM(amount) AS total FROM movements WHERE kind = '{kind}' GROUP BY "
        "account_id) SELECT account_id, total FROM totals WHERE total {op} {x}",
        "Account number and total amount of {kind} movements, for the accounts where that total is {op} {x}.",
        "Número de cuenta e importe total de movimientos {kind}, para las cuentas donde ese total es de {op} {x}.",
        {"kind": s.KIND, "op": s.OP, "x": s.numbers("movements.amount")},
    ),
    Template(
        "customers-with-many", "subquery", 0.7,
        "SELECT c.name, t.accounts FROM customers AS c JOIN (SELECT customer_id, COUNT(*) AS accounts FROM accounts "
        "WHERE status <> '{status}' GROUP BY customer_id) AS t ON t.customer_id = c.customer_id WHERE t.accounts {op} "
        "{n}",
        "Name and number of accounts that are not {status}, for the customers with {op} {n} such accounts (at least "
        "one).",
        "Nombre y cantidad de cuentas que no están {status}, para los clientes con {op} {n} cuentas así (al "
        "menos una).",
        {"status": s.ACCOUNT_STATUS, "op": s.OP, "n": s.FEW},
    ),
)  # fmt: skip

DATES = (
    Template(
        "customers-since", "dates", 0.3,
        "SELECT customer_id, since FROM customers WHERE segment = '{segment}' AND since {when} DATE '{day}'",
        "Number and date of joining of the {segment} customers who joined {when} {day}.",
        "Número y fecha de alta de los clientes {segment} dados de alta {when} {day}.",
        {"segment": s.SEGMENT, "when": s.WHEN, "day": s.DAY},
    ),
    Template(
        "amount-per-month", "dates", 0.5,
        "SELECT DATE_TRUNC('month', posted_at) AS month, SUM(amount) AS total FROM movements WHERE kind = '{kind}' "
        "AND amount {op} {x} GROUP BY month",
        "For each month (as its first day): the total amount of the {kind} movements of {op} {x}.",
        "Por mes (como su primer día): el importe total de los movimientos {kind} de {op} {x}.",
        {"kind": s.KIND, "op": s.OP, "x": s.numbers("movements.amount")},
    ),
    Template(
        "opened-per-year", "dates", 0.4,
        "SELECT YEAR(opened) AS opened_in, COUNT(*) AS accounts FROM accounts WHERE product = '{product}' AND "
        "status <> '{status}' GROUP BY opened_in",
        "For each year the number of {product} accounts opened in it that are not {status}.",
        "Por año, la cantidad de cuentas {product} abiertas en él que no están {status}.",
        {"product": s.ACCOUNT_PRODUCT, "status": s.ACCOUNT_STATUS},
    ),
    Template(
        "movements-in-period", "dates", 0.5,
        "SELECT movement_id, amount FROM movements WHERE kind <> '{kind}' AND posted_at >= TIMESTAMP '{day} 00:00:00' "
        "AND posted_at < TIMESTAMP '2025-03-15 00:00:00'",
        "Number and amount of the movements that are not {kind} from the start of {day} until before the start of "
        "2025-03-15.",
        "Número e importe de los movimientos que no son {kind} desde el inicio del {day} hasta antes del inicio del "
        "2025-03-15.",
        {"kind": s.KIND, "day": s.DAY[:5]},
    ),
    Template(
        "days-since-granted", "dates", 0.5,
        "SELECT loan_id, DATE_DIFF('day', granted, DATE '{day}') AS days FROM loans WHERE status = '{status}' AND "
        "granted <= DATE '{day}'",
        "For each {status} loan granted on or before {day}: its number and the days from the granting to {day}.",
        "Para cada préstamo {status} otorgado el mismo día o antes del {day}: su número y los días desde el "
        "otorgamiento hasta el {day}.",
        {"status": s.LOAN_STATUS, "day": s.DAY},
    ),
    Template(
        "paid-late", "dates", 0.6,
        "SELECT instalment_id, due FROM instalments WHERE due {when} DATE '{day}' AND (paid_on IS NULL OR "
        "paid_on > due)",
        "Number and due date of the instalments due {when} {day} that were paid after their due date or not at all.",
        "Número y vencimiento de las cuotas con vencimiento {when} {day} que se pagaron después del vencimiento o no "
        "se pagaron.",
        {"when": s.WHEN, "day": s.DAY},
    ),
    Template(
        "open-on-day", "dates", 0.6,
        "SELECT account_id, opened FROM accounts WHERE currency = '{currency}' AND opened <= DATE '{day}' AND "
        "(closed IS NULL OR closed > DATE '{day}')",
        "Number and opening date of the {currency} accounts opened on or before {day} and not closed by the end of "
        "that day.",
        "Número y fecha de apertura de las cuentas en {currency} abiertas el mismo día o antes del {day} y no cerradas "
        "al final de ese día.",
        {"currency": s.CURRENCY, "day": s.DAY},
    ),
    Template(
        "card-expiry", "dates", 0.6,
        "SELECT card_id, CAST(issued + INTERVAL {n} YEAR AS DATE) AS expires FROM cards WHERE kind = '{kind}' AND "
        "issued {when} DATE '{day}'",
        "Number and expiry date ({n} years after issue) of the {kind} cards issued {when} {day}.",
        "Número y fecha de vencimiento ({n} años después de la emisión) de las tarjetas {kind} emitidas {when} {day}.",
        {"n": s.values("3", "5"), "kind": s.CARD_KIND, "when": s.WHEN, "day": s.DAY},
    ),
)  # fmt: skip

SETS = (
    Template(
        "account-or-loan", "set", 0.5,
        "SELECT customer_id FROM accounts WHERE currency = '{currency}' AND balance {op} {x} UNION SELECT customer_id "
        "FROM loans WHERE status = '{status}'",
        "The customer numbers, each once, found on {currency} accounts of {op} {x} or on {status} loans.",
        "Los números de cliente, cada uno una vez, que aparecen en cuentas en {currency} de {op} {x} o en préstamos "
        "{status}.",
        {"currency": s.CURRENCY, "op": s.OP, "x": s.values("1000", "2500"), "status": s.LOAN_STATUS},
    ),
    Template(
        "account-and-loan", "set", 0.5,
        "SELECT customer_id FROM accounts WHERE product = '{product}' INTERSECT SELECT customer_id FROM loans WHERE "
        "principal {op} {x}",
        "The customer numbers, each once, found both on a {product} account and on a loan of {op} {x}.",
        "Los números de cliente, cada uno una vez, que aparecen en una cuenta {product} y también en un préstamo de "
        "{op} {x}.",
        {"product": s.ACCOUNT_PRODUCT, "op": s.OP, "x": s.numbers("principal")},
    ),
    Template(
        "account-but-no-card", "set", 0.5,
        "SELECT account_id FROM accounts WHERE currency = '{currency}' AND balance {op} {x} EXCEPT SELECT account_id "
        "FROM cards WHERE status <> '{status}'",
        "Numbers of the {currency} accounts of {op} {x} without a card that is not {status}.",
        "Números de las cuentas en {currency} de {op} {x} sin ninguna tarjeta que no esté {status}.",
        {"currency": s.CURRENCY, "op": s.OP, "x": s.numbers("balance"), "status": s.CARD_STATUS[:2]},
    ),
    Template(
        "labelled-list", "set", 0.5,
        "SELECT 'account' AS source, customer_id FROM accounts WHERE balance {op} {x} AND status = "
        "'{status}' UNION ALL "
        "SELECT 'loan', customer_id FROM loans WHERE rate > {rate}",
        "One list of source and customer number: 'account' for each {status} account of {op} {x}, and 'loan' for each "
        "loan with a rate above {rate}; repeated rows stay.",
        "Una sola lista de origen y número de cliente: 'account' por cada cuenta {status} de {op} {x} y "
        "'loan' por cada "
        "préstamo con tasa mayor que {rate}; las filas repetidas se conservan.",
        {"op": s.OP, "x": s.values("500", "5000"), "status": s.ACCOUNT_STATUS, "rate": s.values("12.00", "15.50")},
    ),
    Template(
        "kind-and-channel", "set", 0.6,
        "SELECT account_id FROM movements WHERE kind = '{kind}' AND amount {op} {x} INTERSECT SELECT account_id FROM "
        "movements WHERE channel = '{channel}'",
        "Numbers of the accounts, each once, with a {kind} movement of {op} {x} and also a movement by {channel}.",
        "Números de las cuentas, cada una una vez, con un movimiento {kind} de {op} {x} y también un movimiento por "
        "{channel}.",
        {"kind": s.KIND, "op": s.OP, "x": s.values("120", "300"), "channel": s.CHANNEL},
    ),
    Template(
        "net-position", "set", 0.7,
        "SELECT customer_id, SUM(value) AS net FROM (SELECT customer_id, balance AS value FROM accounts WHERE currency "
        "= '{currency}' UNION ALL SELECT customer_id, -principal FROM loans WHERE status <> '{status}') AS t GROUP BY "
        "customer_id",
        "For each customer number found there: the balances of its {currency} accounts minus the principals of its "
        "loans that are not {status}.",
        "Por número de cliente que aparezca: los saldos de sus cuentas en {currency} menos los capitales de sus "
        "préstamos que no están {status}.",
        {"currency": s.CURRENCY, "status": s.LOAN_STATUS},
    ),
    Template(
        "loan-but-no-account", "set", 0.6,
        "SELECT customer_id FROM loans WHERE granted {when} DATE '{day}' EXCEPT SELECT customer_id FROM accounts WHERE "
        "status = '{status}'",
        "The customer numbers, each once, on loans granted {when} {day} but on no {status} account.",
        "Los números de cliente, cada uno una vez, en préstamos otorgados {when} {day} pero en ninguna "
        "cuenta {status}.",
        {"when": s.WHEN, "day": s.DAY, "status": s.ACCOUNT_STATUS},
    ),
)  # fmt: skip
