"""RFC 9457 problem documents for everything that goes wrong with a request."""

from __future__ import annotations

from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from veredicto_verifier.errors import ServiceError

PROBLEM = "application/problem+json"
log = structlog.get_logger(__name__)


def document(error: ServiceError, request_id: str | None) -> dict[str, Any]:
    """The problem document of a service error."""
    return _body(error.status, error.title, error.detail, request_id)


def install(app: FastAPI) -> None:
    """Answer every error of the application with a problem document."""
    app.add_exception_handler(ServiceError, _on_service_error)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(Exception, _on_bug)


def response(status: int, title: str, detail: str, headers: dict[str, str] | None = None) -> Response:
    """A problem document as a response."""
    return JSONResponse(_body(status, title, detail, _request_id()), status, headers, PROBLEM)


def _on_service_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceError)
    headers = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s is not None else None
    return response(error.status, error.title, error.detail, headers)


def _on_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return response(error.status_code, "HTTP error", str(error.detail), dict(error.headers or {}))


def _on_validation(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return response(422, "Invalid request", f"{where}: {first['msg']}")


def _on_bug(_request: Request, error: Exception) -> Response:
    log.error("unexpected error", error=repr(error))
    return response(500, "Internal error", "this is our fault; the operator finds the cause in the log")


def _body(status: int, title: str, detail: str, request_id: str | None) -> dict[str, Any]:
    return {"type": "about:blank", "title": title, "status": status, "detail": detail, "request_id": request_id}


def _request_id() -> str | None:
    value = structlog.contextvars.get_contextvars().get("request_id")
    return value if isinstance(value, str) else None
