"""Question templates of bank-sql that change data: updates, deletions and insertions."""

from __future__ import annotations

from veredicto_verifier.packs.generators import bank_sql_slots as s
from veredicto_verifier.packs.generators.bank_sql_slots import Template

DML = (
    Template(
        "set-status", "dml", 0.3,
        "UPDATE accounts SET status = '{status}' WHERE currency = '{currency}' AND balance {op} {x}",
        "Set the status of the {currency} accounts with a balance of {op} {x} to {status}.",
        "Pon en {status} el estado de las cuentas en {currency} con saldo de {op} {x}.",
        {"status": s.ACCOUNT_STATUS, "currency": s.CURRENCY, "op": s.OP, "x": s.numbers("balance")},
    ),
    Template(
        "raise-overdraft", "dml", 0.5,
        "UPDATE accounts SET overdraft = COALESCE(overdraft, 0) + {n} WHERE product = '{product}' AND balance {op} {x}",
        "Raise the overdraft of the {product} accounts with a balance of {op} {x} by {n}; a missing overdraft counts "
        "as 0.",
        "Sube en {n} el sobregiro de las cuentas {product} con saldo de {op} {x}; un sobregiro ausente cuenta como 0.",
        {"n": s.values("50", "200"), "product": s.ACCOUNT_PRODUCT, "op": s.OP, "x": s.numbers("balance")},
    ),
    Template(
        "late-loans", "dml", 0.7,
        "UPDATE loans SET rate = rate + {n}, status = 'late' WHERE product = '{product}' AND loan_id IN "
        "(SELECT loan_id "
        "FROM instalments WHERE paid_on IS NULL AND due {when} DATE '{day}')",
        "For the {product} loans with an instalment due {when} {day} and without a payment date: raise the rate by {n} "
        "and set the status to late.",
        "En los préstamos {product} con una cuota con vencimiento {when} {day} y sin fecha de pago: sube la "
        "tasa en {n} "
        "y pon el estado en late.",
        {"n": s.values("1", "2"), "product": s.LOAN_PRODUCT, "when": s.WHEN, "day": s.DAY},
    ),
    Template(
        "delete-cards", "dml", 0.3,
        "DELETE FROM cards WHERE status = '{status}' AND issued {when} DATE '{day}'",
        "Delete the {status} cards issued {when} {day}.",
        "Borra las tarjetas {status} emitidas {when} {day}.",
        {"status": s.CARD_STATUS, "when": s.WHEN, "day": s.DAY},
    ),
    Template(
        "delete-movements", "dml", 0.4,
        "DELETE FROM movements WHERE channel IS NULL AND kind <> '{kind}' AND amount {op} {x}",
        "Delete the movements without a channel that are not {kind} and have an amount of {op} {x}.",
        "Borra los movimientos sin canal que no son {kind} y tienen importe de {op} {x}.",
        {"kind": s.KIND, "op": s.OP, "x": s.numbers("movements.amount")},
    ),
    Template(
        "delete-unused", "dml", 0.6,
        "DELETE FROM accounts WHERE currency = '{currency}' AND balance {op} {x} AND NOT EXISTS (SELECT 1 "
        "FROM movements "
        "AS m WHERE m.account_id = accounts.account_id)",
        "Delete the {currency} accounts with a balance of {op} {x} that have no movement.",
        "Borra las cuentas en {currency} con saldo de {op} {x} que no tienen ningún movimiento.",
        {"currency": s.CURRENCY, "op": s.OP, "x": s.numbers("balance")},
    ),
    Template(
        "charge-fee", "dml", 0.7,
        "INSERT INTO movements (movement_id, account_id, posted_at, kind, amount) SELECT 100000 + "
        "account_id, account_id, "
        "TIMESTAMP '{day} 00:00:00', 'payment', {n} FROM accounts WHERE status = '{status}' AND balance {op} {x}",
        "For each {status} account of {op} {x} add a movement: number 100000 plus the account number, on that account, "
        "at the start of {day}, kind payment, amount {n}, the rest empty.",
        "Por cada cuenta {status} de {op} {x} agrega un movimiento: número 100000 más el número de cuenta, "
        "en esa cuenta, "
        "al inicio del {day}, tipo payment, importe {n}, lo demás vacío.",
        {"day": s.DAY[:2], "n": s.values("5.00", "12.50"), "status": s.ACCOUNT_STATUS, "op": s.OP,
         "x": s.numbers("balance")},
    ),
    Template(
        "issue-cards", "dml", 0.8,
        "INSERT INTO cards SELECT 50000 + a.account_id, a.account_id, 'Visa', 'debit', 'active', NULL, DATE "
        "'{day}' FROM "
        "accounts AS a LEFT JOIN cards AS k ON k.account_id = a.account_id WHERE k.card_id IS NULL AND a.currency = "
        "'{currency}' AND a.balance {op} {x}",
        "For each {currency} account of {op} {x} without any card add an active Visa debit card issued "
        "{day}, without a "
        "credit limit; its number is 50000 plus the account number.",
        "Por cada cuenta en {currency} de {op} {x} sin ninguna tarjeta agrega una tarjeta Visa debit active emitida el "
        "{day}, sin límite de crédito; su número es 50000 más el número de cuenta.",
        {"day": s.DAY[2:4], "currency": s.CURRENCY, "op": s.OP, "x": s.numbers("balance")},
    ),
)  # fmt: skip
