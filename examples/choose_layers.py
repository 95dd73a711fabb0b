"""Choose the layers of a network that are worth scoring, without training it again.

`GLSScorer` looks at a network's last layer, at several, or at all; more take longer. Is
that worth it? The reference is what a membership attack (LiRA) achieves on each record,
measured with networks trained on random halves of the data. A grid search over the
layers asks which scores rank the records as the attack does. The network is trained
once: a `FrozenEstimator` stays as it is in a search. All rows are training rows, so
there is one "fold", in which they are scored where they were fitted.

Of the candidates, in order of cost, the first is taken that does about as well as the
best. "sketch" is a random approximation of "direct". The loss on each record, which
costs nothing, is there to compare with: where it does as well, as on this network,
leverage in-sample adds nothing to the ranking, and scores by `cv` may.

    python examples/choose_layers.py
"""

import numpy as np
import sklearn
import torch
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier
from torch import nn

from skpriv import GLSScorer, LiRAAttack
from skpriv.metrics import agreement_scorer, score_agreement

ABOUT = 0.03
CANDIDATES = [
    {"layers": ["last", 2], "solver": ["direct"]},
    {"layers": ["all"], "solver": ["sketch", "direct"]},
]


def perceptron():
    """Two hidden layers; a function, so that each network begins anew."""
    return nn.Sequential(
        nn.Linear(64, 16),
        nn.Tanh(),
        nn.Linear(16, 16),
        nn.Tanh(),
        nn.Linear(16, 10),
    )


def classifier():
    """Return a network that trains on all rows it is given (`train_split=None`)."""
    return NeuralNetClassifier(
        perceptron,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        optimizer__weight_decay=1e-3,
        lr=0.01,
        max_epochs=30,
        batch_size=64,
        iterator_train__shuffle=True,
        train_split=None,
        verbose=0,
    )


def first_good(results):
    """Return the first candidate that is about as good as the best."""
    agreement = results["mean_test_score"]
    return int(np.argmax(agreement > agreement.max() - ABOUT))


def main():
    """Measure, search and print."""
    X, y = load_digits(return_X_y=True)
    X, y = (X[:500] / 16).astype(np.float32), y[:500]
    torch.set_num_threads(1)  # more would slow down networks as small as these
    torch.manual_seed(0)
    net = classifier().fit(X, y)
    epochs = len(net.history)
    lira = LiRAAttack(classifier(), n_shadows=16, random_state=0).fit(X, y)

    every_row = np.arange(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            GLSScorer(FrozenEstimator(net), random_state=0),
            CANDIDATES,
            scoring=agreement_scorer,
            cv=[(every_row, every_row)],
            refit=first_good,
        ).fit(X, y, reference=lira.attack_success_)

    print("layers  solver  rank correlation  seconds")
    results = search.cv_results_
    columns = "params", "mean_test_score", "mean_fit_time"
    for params, agreement, seconds in zip(*(results[c] for c in columns), strict=True):
        print(
            f"{params['layers']!s:>6}  {params['solver']:>6}  {agreement:16.3f}"
            f"  {seconds:7.2f}"
        )
    chosen = search.best_estimator_
    attainable = score_agreement(
        lira.attack_success_, chosen.scores_, halves=lira.attack_success_halves_
    ).attainable
    loss = -np.log(net.predict_proba(X)[every_row, y])
    by_loss = score_agreement(lira.attack_success_, loss).spearman
    print(f"By the loss alone it is {by_loss:.3f}.")
    print(f"A perfect score would reach about {attainable:.2f}.")

    assert chosen.estimator_.estimator is net
    assert len(net.history) == epochs
    print(f"\nChosen: layers={chosen.layers!r}. The network was trained once.")
    print(f"The most exposed records: {chosen.scores_.argsort()[:-6:-1].tolist()}")


if __name__ == "__main__":
    main()
