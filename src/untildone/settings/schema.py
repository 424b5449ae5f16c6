"""The declared settings as pydantic models, which check values and give the JSON Schema. Nothing else uses pydantic for settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from untildone.settings import complaints, names
from untildone.settings.declared import PROFILE_SETTINGS, SETTINGS, AgentProfile, Settings, every
from untildone.settings.setting import Setting

_WITH_TEXTS = {"texts": True}
"""The context of values that may come from a variable of the environment or a flag: "1" is 1. Bodies of the API have types."""


class _Strict(BaseModel):
    """Frozen, and an unknown name is an error. A setting may be given by any of its names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _use_one_name(cls, values: Any) -> Any:
        return _by_one_name(values, _declared_for(cls).values()) if isinstance(values, Mapping) else values


def _by_one_name(values: Mapping[str, Any], declared: Iterable[Setting]) -> dict[str, Any]:
    by_name = dict(values)
    for each in (each for each in declared if each.aliases):
        given = {name: by_name.pop(name) for name in (each.name, *each.aliases) if name in by_name}
        if len(set(map(repr, given.values()))) > 1:
            names_given = " and ".join(given)
            raise PydanticCustomError(complaints.GIVEN_TWICE, "{names}", {"names": names_given})
        if given:
            by_name[each.name] = next(iter(given.values()))
    return by_name


def _text_of_number(value: Any) -> Any:
    """Tables of texts may hold numbers without quotes."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _checked(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        try:
            return check(value)
        except ValueError as problem:
            raise PydanticCustomError(complaints.REFUSED, "{reason}", {"reason": str(problem)}) from None

    return run


def _within(declared: Setting) -> Callable[[Any], Any]:
    """For numbers that may also be `none`: their bounds are not part of the JSON Schema."""

    def check(value: Any) -> Any:
        if isinstance(value, int) and not (declared.lowest or 0) <= value <= (declared.highest or value):
            raise PydanticCustomError("out_of_bounds", "")
        return value

    return check


def _of_one_type(hint: Any) -> Any:
    """The type of a number or switch, without the conversions of pydantic, which takes `true` for 1 and 1 for `true`.

    Texts are converted only with `_WITH_TEXTS`."""
    scalars = {bool, int, float} & {hint, *get_args(hint)}
    if not scalars:
        return hint
    (kind,) = scalars

    def check(value: Any, info: ValidationInfo) -> Any:
        is_text = isinstance(value, str) and value != "none" and not info.context
        is_other = isinstance(value, int | float) and isinstance(value, bool) != (kind is bool)
        if is_text or is_other:
            raise PydanticCustomError(f"{kind.__name__}_type", "")
        return value

    return Annotated[hint, BeforeValidator(check)]


def _field(declared: Setting, hint: Any) -> tuple[Any, Any]:
    """The type and the pydantic field of one setting."""
    kind = {tuple[str, ...]: _list_of, Mapping[str, str]: _table_of, Mapping[str, AgentProfile]: _profiles}.get(hint)
    hint = _of_one_type(hint) if kind is None else kind(declared)
    bounds: dict[str, Any] = {}
    if declared.unlimited:
        hint = Annotated[hint, AfterValidator(_within(declared))]
    elif declared.unit:
        bounds = {"gt": declared.above, "ge": declared.lowest, "le": declared.highest}
        bounds["allow_inf_nan"] = None if declared.whole or declared.above is None else False
    if declared.shape:
        bounds["pattern"] = declared.shape.pattern
    if declared.filled:
        bounds["min_length"] = 1
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    default = ... if declared is PROFILE_SETTINGS["agent"] else _plain(declared.default)
    return hint, Field(default, title=declared.title, description=names.put_in(declared.help), **given)


def _type(declared: Setting) -> Any:
    """The type of an option of a mode."""
    return Literal[declared.choices] if declared.choices else type(declared.default)


def _plain(default: Any) -> Any:
    return dict(default) if isinstance(default, Mapping) else default


def _list_of(declared: Setting) -> Any:
    entry: Any = Annotated[str, AfterValidator(_checked(declared.check))] if declared.check else str
    return tuple[entry, ...]


def _table_of(declared: Setting) -> Any:
    entry: Any = Annotated[str, BeforeValidator(_text_of_number)] if declared.name != "env" else str
    check = declared.check
    return Annotated[dict[str, entry], AfterValidator(_checked_pairs(check))] if check else dict[str, entry]


def _checked_pairs(check: Callable[..., Any]) -> Callable[[dict[str, str]], dict[str, str]]:
    return _checked(lambda table: {name: check(name, text) for name, text in table.items()})


def _profiles(_declared: Setting) -> Any:
    return dict[str, ProfileModel]


def _declared_for(model: type[BaseModel]) -> Mapping[str, Setting]:
    return PROFILE_SETTINGS if model.__name__ == AgentProfile.__name__ else every()


def _model(kind: type, declared: Mapping[str, Setting]) -> type[BaseModel]:
    hints = get_type_hints(kind)
    fields: dict[str, Any] = {name: _field(each, hints.get(name) or _type(each)) for name, each in declared.items()}
    return create_model(kind.__name__, __base__=_Strict, __doc__=kind.__doc__, __module__=__name__, **fields)


if TYPE_CHECKING:

    class ProfileModel(BaseModel): ...

    class SettingsModel(BaseModel): ...

else:
    ProfileModel = _model(AgentProfile, PROFILE_SETTINGS)
    SettingsModel = _model(Settings, every())


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the settings."""
    return SettingsModel.model_json_schema()


def validated(values: Mapping[str, Any], where: str) -> Settings:
    """The settings with these values. `where` follows the name of a setting in the sentence about a bad value."""
    try:
        model = SettingsModel.model_validate(values, context=_WITH_TEXTS)
    except ValidationError as problem:
        first = problem.errors()[0]
        raise complaints.about(first["loc"], first["type"], first["input"], first.get("ctx") or {}, where) from None
    return _value(model)


def _value(model: BaseModel) -> Settings:
    values = {name: getattr(model, name) for name in SETTINGS}
    profiles = {name: _profile(profile) for name, profile in values["profiles"].items()}
    options = {name: getattr(model, name) for name in every() if name not in SETTINGS}
    return Settings(**{**values, "profiles": profiles}, options=options, explicit=frozenset(model.model_fields_set))


def _profile(model: BaseModel) -> AgentProfile:
    values = {name: getattr(model, name) for name in PROFILE_SETTINGS}
    return AgentProfile(**values, explicit=frozenset(model.model_fields_set))
