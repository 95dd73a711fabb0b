"""The names and the meanings of the scores that a risk is estimated from."""

from typing import NamedTuple


class ScoreWords(NamedTuple):
    """How a score is presented.

    Attributes
    ----------
    title : str
        In one to three words.
    meaning : str
        A sentence without the full stop.
    """

    title: str
    meaning: str


SCORES = {
    "attack_power": ScoreWords(
        "predicted attack",
        "how often a likelihood ratio attack (LiRA) would be right about the record, "
        "predicted from the model alone; 0.5: no better than guessing",
    ),
    "leverage": ScoreWords(
        "leverage",
        "how much the model's prediction for the record would change with the record's "
        "own label; 0: the other records alone determine it",
    ),
    "self_influence": ScoreWords(
        "self-influence",
        "how much the model's error on the record would grow without the record",
    ),
    "out_of_bag": ScoreWords(
        "out-of-bag error",
        "how badly the parts of the model that were trained without the record predict "
        "its label",
    ),
    "shapley": ScoreWords(
        "Shapley",
        "how much of the nearest neighbours' success in predicting the record's label "
        "is due to the record itself",
    ),
    "waka_5": ScoreWords(
        "WaKA, k = 5",
        "how much the error of the 5 nearest neighbours on the record changes when the "
        "record joins a random half of the data; 0: it makes no difference",
    ),
    "waka_1": ScoreWords(
        "WaKA, k = 1",
        "how much the error of the nearest neighbour on the record changes when the "
        "record joins a random half of the data; 0: it makes no difference",
    ),
    "out_of_shadow_confidence": ScoreWords(
        "doubt",
        "how little the shadow models that were trained without the record believe in "
        "its label, as minus the log-odds of the label",
    ),
    "out_of_shadow_error": ScoreWords(
        "left-out error",
        "how far the predictions of the shadow models that were trained without the "
        "record are from its label",
    ),
}


def words_of(name):
    """Return the words for a score, or its name.

    Parameters
    ----------
    name : str

    Returns
    -------
    words : ScoreWords
    """
    return SCORES.get(name, ScoreWords(name, "a score given by the user"))
