import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skpriv.datasets import TableError, encode_table

N = 200


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": range(N),
            "age": rng.integers(18, 90, N).astype(float),
            "job": rng.choice(["clerk", "nurse", "smith"], N),
            "owner": rng.random(N) < 0.5,
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, N), unit="D"),
            "country": "here",
            "y": rng.choice(["no", "yes"], N),
        }
    )
    table.loc[[3, 5], "age"] = np.nan
    table.loc[[4], "job"] = None
    table.loc[[6], "since"] = pd.NaT
    return table


def features(encoded):
    names = encoded.encoder.get_feature_names_out()
    return dict(zip(names, encoded.X.T, strict=True))


def test_every_kind_of_column_is_encoded(table):
    encoded = encode_table(table, "y")
    found = features(encoded)
    assert list(found) == [
        "age",
        "missingindicator_age",
        "since",
        "missingindicator_since",
        "job_(missing)",
        "job_clerk",
        "job_nurse",
        "job_smith",
        "owner_False",
        "owner_True",
    ]
    assert encoded.X.dtype == np.float64
    assert np.isfinite(encoded.X).all()
    assert [c.name for c in encoded.columns if c.left_out] == ["id", "country"]


def test_numbers_and_dates_have_unit_variance_where_known(table):
    found = features(encode_table(table, "y"))
    for name in ("age", "since"):
        known = table[name].notna()
        assert found[name][known].mean() == pytest.approx(0, abs=1e-12)
        assert found[name][known].std() == pytest.approx(1)
        order = table.loc[known, name].argsort(kind="stable")
        assert (np.diff(found[name][known][order]) >= 0).all()


def test_missing_number_is_the_median_and_said_to_be_missing(table):
    found = features(encode_table(table, "y"))
    missing = table["age"].isna()
    assert found["age"][missing] == pytest.approx(np.median(found["age"][~missing]))
    np.testing.assert_array_equal(found["missingindicator_age"], missing)


def test_category_has_one_feature_a_value_and_one_for_missing(table):
    found = features(encode_table(table, "y"))
    for job in ("clerk", "nurse", "smith"):
        np.testing.assert_array_equal(found[f"job_{job}"], table["job"] == job)
    np.testing.assert_array_equal(found["job_(missing)"], table["job"].isna())


def test_many_categories_share_a_feature_beyond_the_frequent():
    values = np.repeat(np.arange(80), np.arange(80) + 10)
    table = pd.DataFrame({"c": [f"v{v:02}" for v in values], "y": values % 2})
    encoded = encode_table(table, "y")
    assert encoded.X.shape[1] == 50
    np.testing.assert_array_equal(encoded.X.sum(axis=1), 1)
    rare = encoded.X[values < 31]
    assert len(np.unique(rare, axis=0)) == 1


def test_dates_in_text_are_encoded_as_dates_are(table):
    as_text = table.assign(since=table["since"].dt.strftime("%Y-%m-%d"))
    np.testing.assert_allclose(encode_table(as_text, "y").X, encode_table(table, "y").X)


def test_encoder_is_reusable_on_new_records(table):
    encoded = encode_table(table, "y")
    new = table.head(3).drop(columns="y").assign(job="astronaut")
    again = pickle.loads(pickle.dumps(encoded.encoder)).transform(new)
    expected = encoded.X[:3].copy()
    names = list(encoded.encoder.get_feature_names_out())
    expected[:, [i for i, n in enumerate(names) if n.startswith("job")]] = 0
    np.testing.assert_array_equal(again, expected)
    refitted = clone(encoded.encoder).fit_transform(table)
    np.testing.assert_array_equal(refitted, encoded.X)


def test_order_of_rows_does_not_matter(table):
    order = np.random.default_rng(1).permutation(N)
    shuffled = encode_table(table.iloc[order].reset_index(drop=True), "y")
    encoded = encode_table(table, "y")
    # The mean of numbers in another order differs in the last bits.
    np.testing.assert_allclose(shuffled.X, encoded.X[order], atol=1e-12)
    np.testing.assert_array_equal(shuffled.y, encoded.y[order])


def test_table_is_not_changed(table):
    before = table.copy(deep=True)
    encode_table(table, "y", ["age"])
    pd.testing.assert_frame_equal(table, before)


def test_dropped_columns_are_not_encoded(table):
    encoded = encode_table(table, "y", ["age", "job"])
    assert not {"age", "job"} & {column.name for column in encoded.columns}
    assert encoded.X.shape[1] == 4


def test_label_says_the_task(table):
    assert encode_table(table, "y").task == "classification"
    income = np.linspace(0, 1e5, N)
    encoded = encode_table(table.assign(income=income), "income")
    assert encoded.task == "regression"
    assert encoded.classes is None
    np.testing.assert_array_equal(encoded.y, income)


@pytest.mark.parametrize(
    ("label", "drop", "fault"),
    [
        ("Y", [], "no column 'Y'; did you mean 'y'"),
        ("zzz", [], "no column 'zzz'; the columns are 'id', 'age'"),
        ("y", ["agee"], "no column 'agee'; did you mean 'age'"),
        ("y", ["y"], "label column 'y' cannot be left out"),
        (
            "y",
            ["age", "job", "owner", "since"],
            "no column but the label 'y' .* 'id' is identifier, 'country' is constant",
        ),
    ],
)
def test_fault_in_the_choice_of_columns_is_named(table, label, drop, fault):
    with pytest.raises(TableError, match=fault):
        encode_table(table, label, drop)


def test_label_alone_is_refused(table):
    with pytest.raises(TableError, match=r"no column but the label 'y' can be used$"):
        encode_table(table[["y"]], "y")
