"""The typed task of `xml`: a schema from the task or its pack, and what must stand where."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from veredicto_verifier.comparators import Comparison
from veredicto_verifier.verifier import Spec
from veredicto_verifier.verifiers.xml_schema.paths import parse_path

SchemaText = Annotated[str, StringConstraints(min_length=1, max_length=2_000_000)]
FixtureName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_./-]{1,200}$")]
Value = Annotated[str, StringConstraints(max_length=10_000)]


def _readable(path: str) -> str:
    parse_path(path, {})
    return path


Path = Annotated[str, AfterValidator(_readable)]


class SchemaSource(BaseModel):
    """An XSD 1.0 schema: its text, or the name of a pack's fixture, and those that it includes or imports."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    xsd: SchemaText | None = None
    """The schema itself."""
    fixture: FixtureName | None = None
    """Or the fixture that holds it, as `pack/name`."""
    imports: Annotated[dict[str, str], Field(max_length=100)] = Field(default_factory=dict)
    """What each `schemaLocation` means, as written in the schemas: a schema's text, or (with `fixture`) a fixture."""

    @model_validator(mode="after")
    def _one_of_both(self) -> SchemaSource:
        if (self.xsd is None) == (self.fixture is None):
            raise ValueError("give `xsd` or `fixture`, one of them")
        return self


class XmlSpec(Spec):
    """What `xml` judges by."""

    model_config = ConfigDict(validate_by_alias=True, serialize_by_alias=True)

    xml_schema: Annotated[SchemaSource, Field(alias="schema")]
    """The schema that the document must be valid under."""
    root: Annotated[str, StringConstraints(min_length=1, max_length=300)] | None = None
    """Name of the document's element, `{namespace}name` or `name`; may be null where the schema declares only one."""
    expected: Annotated[dict[Path, Value | tuple[Value, ...]], Field(max_length=500)] = Field(default_factory=dict)
    """Paths and the texts that must stand there; a list where the path leads to several elements."""
    compare: dict[str, Comparison] = Field(default_factory=dict)
    """How an expected value is compared; exactly, if not named."""
    namespaces: dict[str, str] = Field(default_factory=dict)
    """Prefixes that the paths use; the empty one is the namespace of names without prefix."""
    max_bytes: Annotated[int, Field(ge=16, le=4_194_304)] = 262_144
    """UTF-8 bytes of the document."""
    max_elements: Annotated[int, Field(ge=1, le=100_000)] = 5_000
    """Elements of the document."""
    max_depth: Annotated[int, Field(ge=1, le=255)] = 100
    """Depth of the document's elements."""

    @model_validator(mode="after")
    def _consistent(self) -> XmlSpec:
        if not self.compare.keys() <= self.expected.keys():
            raise ValueError("`compare` names a path that is not in `expected`")
        unknown = {step.prefix for path in self.expected for step in parse_path(path, {}).steps} - {
            "",
            *self.namespaces,
        }
        if unknown:
            raise ValueError(f"`namespaces` does not say what the prefix {min(unknown)[:40]!r} means")
        return self


def fixture_names(spec: XmlSpec) -> list[str]:
    """The pack fixtures that the schema lies in."""
    source = spec.xml_schema
    return [] if source.fixture is None else [source.fixture, *source.imports.values()]
