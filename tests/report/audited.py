"""Records of people, three of them rare, and a model of them."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

N = 120
# One record of a class, one unlike all others, one with a wrong label.
ONLY, UNLIKE, WRONG = 5, 17, 31


def make_people():
    """Return records with columns of several kinds, and their labels."""
    rng = np.random.default_rng(0)
    age = rng.normal(40, 10, N)
    job = rng.choice(["clerk", "nurse", "smith"], N).astype(object)
    job[3] = "juggler"
    wealth = rng.lognormal(0, 0.5, N)
    y = np.where(age + rng.normal(0, 3, N) > 40, "old", "young").astype(object)
    age[UNLIKE], wealth[UNLIKE] = 112.5, 90.25
    oldest = np.argsort(age)[-5]
    age[WRONG] = age[oldest]
    y[WRONG], y[ONLY] = "young", "ageless"
    people = pd.DataFrame(
        {"age": age, "job": job, "wealth": wealth}, index=[f"r{i}" for i in range(N)]
    )
    return people, pd.Series(y, index=people.index, name="stage")


def model_of_people():
    """Return a model that takes the columns that are numbers."""
    encoder = make_column_transformer(
        (StandardScaler(), ["age", "wealth"]),
        (OneHotEncoder(handle_unknown="ignore"), ["job"]),
    )
    return make_pipeline(encoder, LogisticRegression())
