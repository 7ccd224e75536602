"""Question templates of bank-sql: filters, aggregates and joins."""

from __future__ import annotations

from veredicto_verifier.packs.generators import bank_sql_slots as s
from veredicto_verifier.packs.generators.bank_sql_slots import Template

FILTER = (
    Template(
        "customers-by-income", "filter", 0.1,
        "SELECT name, city FROM customers WHERE segment = '{segment}' AND income {op} {x}",
        "Name and city of the {segment} customers whose income is {op} {x}.",
        "Nombre y ciudad de los clientes {segment} cuyo ingreso es {op} {x}.",
        {"segment": s.SEGMENT, "op": s.OP, "x": s.numbers("income")},
    ),
    Template(
        "accounts-by-balance", "filter", 0.2,
        "SELECT account_id, balance FROM accounts WHERE currency = '{currency}' AND balance {op} {x} "
        "ORDER BY balance DESC, account_id",
        "Account number and balance of the {currency} accounts with a balance of {op} {x}, highest balance first, "
        "equal balances by account number.",
        "Número y saldo de las cuentas en {currency} con saldo de {op} {x}, de mayor a menor saldo; a igual saldo, "
        "por número de cuenta.",
        {"currency": s.CURRENCY, "op": s.OP, "x": s.numbers("balance")},
    ),
    Template(
        "movements-between", "filter", 0.2,
        "SELECT movement_id, amount FROM movements WHERE channel IN ('{channel}', 'card') AND kind = '{kind}' "
        "AND amount BETWEEN {low} AND {high}",
        "Number and amount of the {kind} movements by {channel} or card with an amount from {low} to {high}, "
        "both included.",
        "Número e importe de los movimientos {kind} por {channel} o card con importe entre {low} y {high}, "
        "ambos incluidos.",
        {"channel": s.CHANNEL[:3], "kind": s.KIND, "low": s.values("50", "120"), "high": s.values("300", "750")},
    ),
    Template(
        "customers-without-city", "filter", 0.3,
        "SELECT customer_id, name FROM customers WHERE city IS {null} AND risk_score {op} {x}",
        "Number and name of the customers {null} and with a risk score of {op} {x}.",
        "Número y nombre de los clientes {null} y con puntaje de riesgo de {op} {x}.",
        {
            "null": (s.Option("NULL", "without a city", "sin ciudad"),
                     s.Option("NOT NULL", "with a known city", "con ciudad conocida")),
            "op": s.OP, "x": s.numbers("risk_score"),
        },
    ),
    Template(
        "cards-or", "filter", 0.3,
        "SELECT card_id FROM cards WHERE kind = '{kind}' AND (status = '{status}' OR credit_limit {op} {x})",
        "Numbers of the {kind} cards that are {status} or have a credit limit of {op} {x}.",
        "Números de las tarjetas {kind} que están {status} o tienen un límite de crédito de {op} {x}.",
        {"kind": s.CARD_KIND, "status": s.CARD_STATUS, "op": s.OP, "x": s.numbers("credit_limit")},
    ),
    Template(
        "distinct-names", "filter", 0.3,
        "SELECT DISTINCT name FROM customers WHERE country = '{country}' AND risk_score {op} {x}",
        "The different names of the customers in {country} with a risk score of {op} {x}.",
        "Los distintos nombres de los clientes de {country} con puntaje de riesgo de {op} {x}.",
        {"country": s.COUNTRY, "op": s.OP, "x": s.numbers("risk_score")},
    ),
    Template(
        "loans-not-in-status", "filter", 0.3,
        "SELECT loan_id, rate FROM loans WHERE status <> '{status}' AND rate {op} {x} AND product = '{product}'",
        "Number and rate of the {product} loans that are not {status} and whose rate is {op} {x}.",
        "Número y tasa de los préstamos {product} que no están {status} y cuya tasa es de {op} {x}.",
        {"status": s.LOAN_STATUS, "op": s.OP, "x": s.numbers("rate"), "product": s.LOAN_PRODUCT},
    ),
    Template(
        "smallest-balances", "filter", 0.4,
        "SELECT account_id, balance FROM accounts WHERE product = '{product}' AND balance {op} {x} "
        "ORDER BY balance, account_id LIMIT {n}",
        "The {n} {product} accounts with the smallest balance among those with {op} {x}: number and balance, smallest "
        "first, equal balances by account number.",
        "Las {n} cuentas {product} de menor saldo entre las que tienen {op} {x}: número y saldo, de menor a mayor; "
        "a igual saldo, por número de cuenta.",
        {"product": s.ACCOUNT_PRODUCT, "op": s.UP, "x": s.numbers("balance"), "n": s.TOP},
    ),
)  # fmt: skip

AGGREGATE = (
    Template(
        "customers-per-segment", "aggregate", 0.3,
        "SELECT segment, COUNT(*) AS customers, AVG(income) AS average_income FROM customers "
        "WHERE risk_score {op} {x} GROUP BY segment",
        "For each segment the number of customers and their average income, of those with a risk score of {op} {x}.",
        "Por segmento, la cantidad de clientes y su ingreso promedio, de los que tienen puntaje de riesgo de {op} {x}.",
        {"op": s.OP, "x": s.numbers("risk_score")},
    ),
    Template(
        "active-branches", "aggregate", 0.5,
        "SELECT branch_id, SUM(balance) AS total FROM accounts WHERE currency = '{currency}' GROUP BY branch_id "
        "HAVING COUNT(*) {op} {n}",
        "Branch number and total balance of the {currency} accounts, for the branches with {op} {n} such accounts.",
        "Número de sucursal y saldo total de las cuentas en {currency}, para las sucursales con {op} {n} cuentas así.",
        {"currency": s.CURRENCY, "op": s.OP, "n": s.values("5", "7")},
    ),
    Template(
        "busy-accounts", "aggregate", 0.5,
        "SELECT account_id, COUNT(*) AS movements, SUM(amount) AS total FROM movements WHERE kind <> '{kind}' "
        "GROUP BY account_id HAVING COUNT(*) {op} {n}",
        "For each account with {op} {n} movements that are not {kind}: account number, number and total amount of "
        "those movements.",
        "Para cada cuenta con {op} {n} movimientos que no son {kind}: número de cuenta, cantidad e importe total de "
        "esos movimientos.",
        {"kind": s.KIND, "op": s.OP, "n": s.FEW},
    ),
    Template(
        "accounts-that-moved", "aggregate", 0.4,
        "SELECT kind, COUNT(DISTINCT account_id) AS accounts, COUNT(channel) AS with_channel FROM movements "
        "WHERE amount {op} {x} GROUP BY kind",
        "For each kind of movement, of those with an amount of {op} {x}: how many different accounts there are and how "
        "many movements have a channel.",
        "Por tipo de movimiento, de los que tienen importe de {op} {x}: cuántas cuentas distintas hay y cuántos "
        "movimientos tienen canal.",
        {"op": s.OP, "x": s.numbers("movements.amount")},
    ),
    Template(
        "balance-range", "aggregate", 0.3,
        "SELECT product, currency, MAX(balance) AS highest, MIN(balance) AS lowest FROM accounts "
        "WHERE status = '{status}' AND balance {op} {x} GROUP BY product, currency",
        "For each product and currency the highest and the lowest balance of the {status} accounts with {op} {x}.",
        "Por producto y moneda, el saldo más alto y el más bajo de las cuentas {status} con {op} {x}.",
        {"status": s.ACCOUNT_STATUS, "op": s.OP, "x": s.numbers("balance")},
    ),
    Template(
        "largest-branches", "aggregate", 0.5,
        "SELECT branch_id, SUM(balance) AS total FROM accounts WHERE status = '{status}' AND balance {op} {x} "
        "GROUP BY branch_id ORDER BY total DESC, branch_id LIMIT {n}",
        "The {n} branches with the largest total balance in {status} accounts of {op} {x} each: branch number and "
        "total, largest first, ties by branch number.",
        "Las {n} sucursales con mayor saldo total en cuentas {status} de {op} {x} cada una: número y total, de mayor "
        "a menor; a igual total, por número.",
        {"status": s.ACCOUNT_STATUS, "op": s.OP, "x": s.numbers("balance"), "n": s.values("3", "4")},
    ),
    Template(
        "average-fee", "aggregate", 0.5,
        "SELECT kind, AVG(COALESCE(fee, 0)) AS average_fee FROM movements WHERE amount {op} {x} AND channel = "
        "'{channel}' GROUP BY kind",
        "The average fee for each kind of movement by {channel} with an amount of {op} {x}; a missing fee counts as 0.",
        "La comisión promedio por tipo de movimiento por {channel} con importe de {op} {x}; una comisión ausente "
        "cuenta como 0.",
        {"op": s.OP, "x": s.numbers("movements.amount"), "channel": s.CHANNEL},
    ),
    Template(
        "missing-fees", "aggregate", 0.5,
        "SELECT channel, SUM(CASE WHEN fee IS NULL THEN 1 ELSE 0 END) AS without_fee, MAX(amount) AS largest "
        "FROM movements WHERE kind = '{kind}' AND amount {op} {x} GROUP BY channel",
        "For each channel (the missing one too), of the {kind} movements with an amount of {op} {x}: how many have no "
        "fee, and the largest amount.",
        "Por canal (también el ausente), de los movimientos {kind} con importe de {op} {x}: cuántos no tienen "
        "comisión y el importe mayor.",
        {"kind": s.KIND, "op": s.OP, "x": s.numbers("movements.amount")},
    ),
)  # fmt: skip

JOIN = (
    Template(
        "balances-of-customers", "join", 0.4,
        "SELECT c.name, a.account_id, a.balance FROM customers c JOIN accounts a ON a.customer_id = c.customer_id "
        "WHERE c.segment = '{segment}' AND a.balance {op} {x}",
        "Customer name, account number and balance of the accounts of {segment} customers with a balance of {op} {x}.",
        "Nombre del cliente, número y saldo de las cuentas de clientes {segment} con saldo de {op} {x}.",
        {"segment": s.SEGMENT, "op": s.OP, "x": s.numbers("balance")},
    ),
    Template(
        "accounts-per-customer", "join", 0.5,
        "SELECT c.customer_id, COUNT(a.account_id) AS accounts FROM customers c LEFT JOIN accounts a "
        "ON a.customer_id = c.customer_id WHERE c.country = '{country}' AND c.risk_score {op} {x} "
        "GROUP BY c.customer_id",
        "For each customer in {country} with a risk score of {op} {x}: the customer number and how many accounts "
        "they have, 0 included.",
        "Para cada cliente de {country} con puntaje de riesgo de {op} {x}: el número de cliente y cuántas cuentas "
        "tiene, incluido el 0.",
        {"country": s.COUNTRY, "op": s.OP, "x": s.numbers("risk_score")},
    ),
    Template(
        "customers-without-loan", "join", 0.5,
        "SELECT c.customer_id, c.name FROM customers c LEFT JOIN loans l ON l.customer_id = c.customer_id "
        "WHERE l.loan_id IS NULL AND c.risk_score {op} {x} AND c.segment = '{segment}'",
        "Number and name of the {segment} customers without any loan whose risk score is {op} {x}.",
        "Número y nombre de los clientes {segment} sin ningún préstamo cuyo puntaje de riesgo es de {op} {x}.",
        {"op": s.OP, "x": s.numbers("risk_score"), "segment": s.SEGMENT},
    ),
    Template(
        "movements-by-city", "join", 0.6,
        "SELECT b.city, COUNT(*) AS movements, SUM(m.amount) AS total FROM movements m JOIN accounts a "
        "ON a.account_id = m.account_id JOIN branches b ON b.branch_id = a.branch_id WHERE m.kind = '{kind}' "
        "AND m.amount {op} {x} GROUP BY b.city",
        "For each city of a branch: number and total amount of the {kind} movements of {op} {x} on its accounts.",
        "Por ciudad de la sucursal: cantidad e importe total de los movimientos {kind} de {op} {x} en sus cuentas.",
        {"kind": s.KIND, "op": s.OP, "x": s.numbers("movements.amount")},
    ),
    Template(
        "balance-per-branch", "join", 0.6,
        "SELECT b.branch_id, b.city, COALESCE(SUM(a.balance), 0) AS total FROM branches b LEFT JOIN accounts a "
        "ON a.branch_id = b.branch_id AND a.status = '{status}' AND a.balance {op} {x} GROUP BY b.branch_id, b.city",
        "For every branch its number, its city and the total balance of its {status} accounts of {op} {x}, 0 if it "
        "has none.",
        "Para cada sucursal, su número, su ciudad y el saldo total de sus cuentas {status} de {op} {x}; 0 si no tiene.",
        {"status": s.ACCOUNT_STATUS, "op": s.OP, "x": s.numbers("balance")},
    ),
    Template(
        "card-holders", "join", 0.6,
        "SELECT DISTINCT c.customer_id, c.name FROM customers c JOIN accounts a ON a.customer_id = c.customer_id "
        "JOIN cards k ON k.account_id = a.account_id WHERE k.kind = '{kind}' AND k.credit_limit {op} {x}",
        "Number and name of the customers with a {kind} card whose credit limit is {op} {x}, each customer once.",
        "Número y nombre de los clientes con una tarjeta {kind} cuyo límite de crédito es de {op} {x}, cada cliente "
        "una vez.",
        {"kind": s.CARD_KIND, "op": s.OP, "x": s.numbers("credit_limit")},
    ),
    Template(
        "unpaid-instalments", "join", 0.5,
        "SELECT l.product, COUNT(*) AS unpaid, SUM(i.amount) AS owed FROM loans l JOIN instalments i "
        "ON i.loan_id = l.loan_id WHERE i.paid_on IS NULL AND l.rate {op} {x} AND l.status <> '{status}' "
        "GROUP BY l.product",
        "For each loan product, of the loans that are not {status} with a rate of {op} {x}: number and total amount "
        "of the instalments without a payment date.",
        "Por producto, de los préstamos que no están {status} con tasa de {op} {x}: cantidad e importe total de las "
        "cuotas sin fecha de pago.",
        {"op": s.OP, "x": s.numbers("rate"), "status": s.LOAN_STATUS},
    ),
    Template(
        "accounts-with-holder", "join", 0.5,
        "SELECT a.account_id, c.name FROM accounts a LEFT JOIN customers c ON c.customer_id = a.customer_id "
        "WHERE a.currency = '{currency}' AND a.balance {op} {x}",
        "Account number and customer name of the {currency} accounts of {op} {x}; the name is empty when the customer "
        "does not exist.",
        "Número de cuenta y nombre del cliente de las cuentas en {currency} de {op} {x}; el nombre queda vacío si el "
        "cliente no existe.",
        {"currency": s.CURRENCY, "op": s.OP, "x": s.numbers("balance")},
    ),
)  # fmt: skip
