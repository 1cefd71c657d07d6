"""What all estimators share: the protocol of scikit-learn, without its base class, which takes a second to import."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from kgreason.errors import CallError

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from kgreason.report.data import Report

    class Result(Protocol):
        """What the functions return."""

        def report(self) -> Report:
            """Tell what was done, and how safe it is."""
            ...


class Estimator:
    """An anonymizer with its parameters, which `sklearn.base.clone`, `ParameterGrid` and `Pipeline` take.

    Parameters are those of ``__init__``, kept as given and checked by ``fit``; what was found has names that end with
    an underscore. An anonymizer makes one release of one graph, so there is no ``transform`` of other data:
    ``fit_transform`` returns the release, and in a `sklearn.pipeline.Pipeline` an anonymizer is the last step. No class
    inherits from `sklearn.base.BaseEstimator`, and scikit-learn's ``check_estimator`` does not apply: data are graphs.

    Attributes
    ----------
    result_
        What the function of `kgreason` returned that the estimator stands for.
    mapping_
        Released label of each original one: the secret.
    """

    result_: Result
    mapping_: dict[str, str]
    _fitted: ClassVar[tuple[str, ...]] = ("result_", "released_", "verdict_", "mapping_")

    @classmethod
    def _parameters(cls) -> dict[str, Parameter]:
        found = signature(cls.__init__).parameters
        return {name: parameter for name, parameter in found.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Parameters by name.

        Parameters
        ----------
        deep
            Without effect: no parameter is an estimator.
        """
        return {name: getattr(self, name) for name in sorted(self._parameters())}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; what was found before stays until `fit` is called.

        Raises
        ------
        CallError
            If there is no such parameter; then none is changed.
        """
        known = self._parameters()
        for name in parameters:
            if name not in known:
                from kgreason.lang.names import suggest

                near = suggest(name, known)
                raise CallError(
                    f"{type(self).__name__} has no parameter {name!r}",
                    hint=f"did you mean {near!r}?" if near else f"there are {', '.join(known)}",
                )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Parameters that are not the defaults."""
        shown = []
        for name, parameter in self._parameters().items():
            value = getattr(self, name, parameter.default)
            if value is parameter.default or (
                type(value) is type(parameter.default) and value == parameter.default
            ):
                continue
            text = repr(value)
            shown.append(f"{name}={text if len(text) <= 60 else text[:56] + ' ...'}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def report(self) -> Report:
        """The report of the release; secret, for it tells of the original.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        """
        return self.result_.report()

    def __sklearn_is_fitted__(self) -> bool:
        return "result_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            input_tags=InputTags(two_d_array=False),
            no_validation=True,
            non_deterministic=True,
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in type(self)._fitted:
                from sklearn.exceptions import NotFittedError

                raise NotFittedError(
                    f"this {type(self).__name__} has no {name} yet: call fit or fit_transform first"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
