"""The only imports of scikit-learn names that are not public.

When scikit-learn moves one of them, this is the file to change.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.ensemble._base import _set_random_states as set_random_states
from sklearn.utils import _align_api_if_sparse as align_sparse_api
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._chunking import get_chunk_n_rows
from sklearn.utils._metadata_requests import _MetadataRequester as MetadataRequester
from sklearn.utils._openmp_helpers import (
    _openmp_effective_n_threads as effective_n_threads,
)
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_params,
)
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "MetadataRequester",
    "StrOptions",
    "align_sparse_api",
    "check_sample_weight",
    "effective_n_threads",
    "fit_context",
    "get_chunk_n_rows",
    "safe_indexing",
    "set_random_states",
    "validate_params",
]
