"""Write the contract as an OpenAPI document: `python -m veredicto_verifier.openapi proto/openapi.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from veredicto_proto.messages import ScoreRequest
from veredicto_verifier.app import create_app
from veredicto_verifier.settings import Settings


def document() -> str:
    """What FastAPI knows of the routes, and the body of `POST /score`, as stable JSON text."""
    document = dict(create_app(Settings()).openapi())
    schema = ScoreRequest.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = document["components"]["schemas"]
    schemas.update(schema.pop("$defs"))
    schemas["ScoreRequest"] = schema
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), encoding="utf-8")
