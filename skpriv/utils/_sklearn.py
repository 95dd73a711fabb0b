"""The only imports of scikit-learn names that are not public.

When scikit-learn moves one of them, this is the file to mend.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.ensemble._base import _set_random_states as set_random_states
from sklearn.utils._metadata_requests import _MetadataRequester as MetadataRequester
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_params,
)

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "MetadataRequester",
    "StrOptions",
    "fit_context",
    "set_random_states",
    "validate_params",
]
