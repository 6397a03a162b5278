"""What all targets share: frozen settings, and the environment handed in by whoever may read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, PrivateAttr, SecretStr

from ragguard.errors import UserInputError


def _checked_name(name: str) -> str:
    if not name.isascii() or not name.isidentifier():
        raise ValueError("is not the name of an environment variable")
    return name


EnvironmentName = Annotated[str, AfterValidator(_checked_name)]


class TargetSettings(BaseModel):
    """Base of all targets. Fields are the YAML arguments; values of environment variables are never fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    _environment: Mapping[str, SecretStr] = PrivateAttr(default_factory=dict)

    @property
    def environment_names(self) -> frozenset[str]:
        """The environment variables that the target cannot do without."""
        return frozenset()

    def with_environment(self, environment: Mapping[str, str]) -> Self:
        """Returns a copy that knows the values of the variables it may see, and of no others."""
        known = self._visible_names() & environment.keys()
        copy = self.model_copy()
        copy._environment = {name: SecretStr(environment[name]) for name in sorted(known)}  # noqa: SLF001 - our own
        return copy

    def check(self) -> None:
        """Finds out, without running anything, whether the app can be asked at all, as far as that can be known.

        Raises:
            UserInputError: It cannot.
        """

    def _visible_names(self) -> frozenset[str]:
        return self.environment_names

    def _value_of(self, name: str) -> str:
        value = self._environment.get(name)
        if value is None:
            raise UserInputError(
                f"target {self.__class__.model_fields['type'].default}: the environment variable {name} is not set",
                mend=f"set {name}, or take it out of the target's settings",
            )
        return value.get_secret_value()
