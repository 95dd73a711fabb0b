"""Displays in the form of scikit-learn's; matplotlib is imported to draw."""

from skpriv.utils import _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    {
        "_attack_roc": ["AttackRocDisplay"],
        "_group_risk": ["GroupRiskDisplay"],
        "_minimization": ["MinimizationDisplay"],
        "_onion_effect": ["OnionEffectDisplay"],
        "_risk": ["RiskDisplay"],
        "_score_agreement": ["ScoreAgreementDisplay"],
        "_tradeoff": ["TradeoffDisplay"],
    },
)
