"""A parameter named ``score`` on an estimator, where scikit-learn has a method."""


class ScoreName(str):
    """The value of a parameter named ``score``, and the method of that name.

    scikit-learn calls ``estimator.score(X, y)`` wherever an estimator has an attribute
    of that name, as `GLSScorer` has for its parameter. Here it does what it does in
    every meta-estimator: it scores the model that is wrapped.
    """

    def __new__(cls, name, scorer):
        self = super().__new__(cls, name)
        self._scorer = scorer
        return self

    def __call__(self, X, y=None):
        """Return the fitted model's own score on the given rows, such as accuracy.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        score : float
        """
        return self._scorer._score_model(X, y)


class ScoreParameter:
    """Descriptor: a parameter that is stored as it is, and read as a `ScoreName`."""

    def __get__(self, scorer, owner=None):
        if scorer is None:
            return self
        if "score" not in vars(scorer):
            raise AttributeError("score")
        value = vars(scorer)["score"]
        return ScoreName(value, scorer) if isinstance(value, str) else value

    def __set__(self, scorer, value):
        vars(scorer)["score"] = value
