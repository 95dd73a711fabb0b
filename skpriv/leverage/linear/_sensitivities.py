"""The interface of linear models' sensitivities."""

from abc import abstractmethod

from skpriv.leverage._scores import Sensitivities


class LinearSensitivities(Sensitivities):
    """Sensitivities of a linear model, once `solve` has computed its curvature.

    Attributes
    ----------
    has_attack_power : bool
        Whether a record has a single signal whose shift can be predicted: the only
        output of the model or, if one loss fits the probabilities of all classes, the
        confidence in its label.
    varies_in_support : bool
        Whether fits to other records may differ in which weights are zero, as those
        with an L1 penalty do.
    fits_exactly : bool
        Whether the model that was solved for has no residuals but rounding errors,
        although targets differ.
    """

    has_attack_power = False
    varies_in_support = False
    fits_exactly = False

    @abstractmethod
    def solve(self, X, y, sample_weight, *, attack_power=False):
        """Compute the curvature of the model at its fitted weights.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_rows, n_features)
            The rows that it was fitted on.
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Their labels.
        sample_weight : ndarray of shape (n_rows,)
            Their weights.
        attack_power : bool, default=False
            Whether terms must include the shift and the variance of each record's
            signal. Only if `has_attack_power`.

        Returns
        -------
        self : LinearSensitivities

        Raises
        ------
        NegativeCurvatureError
            If the fitted weights are not at a minimum.
        """

    def stepped(self):
        """Return the objective after a Newton step.

        Returns
        -------
        objective : Objective or None
            None if there is no such step.
        """
        return
