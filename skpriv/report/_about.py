"""What a report that is filed says whatever the figures are.

Methods, limits, references and terms, for readers who know no statistics.
"""

from skpriv.report._blocks import Link, Part, Strong
from skpriv.utils._text import count

ATTACKER = (
    "The attacker holds the full record of a person, with its label, and wants to know "
    "one thing: was this record in the training data? Knowing that can do harm by "
    "itself. Whoever is in the training data of a model about patients is a patient.",
    "To find out, the attacker can ask the model for its answers (a black box: the "
    "inside of the model stays hidden), knows what kind of model it is, and has data "
    "about similar people to train such models with. This is more than most attackers "
    "have, so that the figures are cautious.",
)

ATTACK_AS_A_WHOLE = (
    "Seen over all records, how well can the attacker separate those that were in the "
    "training data from those that were not? These are the figures by which attacks "
    "are compared in research: the mean over the models that were attacked, and the "
    "range in which nearly all of them are."
)

READ_MOST_EXPOSED = (
    "A risk of 94% means: in 100 guesses about this record, 94 are right. The interval "
    "says how precisely the risk is known. “At risk” means that the audit is confident "
    "that an attacker is right in more than 55 of 100 guesses. Among so many records "
    "some look exposed by chance, so it asks for more than an interval above 55%. “Not "
    "listed” means that it is not confident, which is no sign that the record is "
    "protected. The reasons say what is unusual about the record; they are hints for "
    "whoever looks at it."
)


def read_groups(level):
    """Explain the tables of groups, whose intervals hold at a confidence level."""
    return (
        "The mean risk of a group is how often an attacker is right about its records, "
        f"on average. In each table, all intervals hold at once with {level} "
        "confidence: where those of two groups do not overlap, the groups differ. A "
        "mean says nothing about single records of a group."
    )


READ_MEASURES = (
    "Each measure was carried out: the model was trained again with it, and attacked "
    "again. The first row is the model as it is. A measure helps if the mean and the "
    "highest risk are lower, and costs what it takes from the model's performance. "
    "Small differences can be due to chance. How many records are listed as at risk "
    "also depends on how precisely the risk was measured each time, so that these "
    "numbers are harder to compare."
)

GUARANTEES = (
    (
        Strong("Only differential privacy gives a guarantee. "),
        "It adds noise while the model is trained, so that no single record can matter "
        "much, whatever the attack. The other measures lower the risk from the attack "
        "that was measured, and promise nothing about other attacks.",
    ),
    (
        Strong("Leaving out the records at risk is rarely enough. "),
        "Records that were protected by them may be exposed next (the onion effect), "
        "so the risk must be measured again without them.",
    ),
)

LEARNT_NOTHING = (
    "This model is hardly better than always giving the same answer. A model that has "
    "learnt nothing exposes nobody, so that a low risk is no achievement here."
)

READ_NOTES = (
    "Decisions that the audit took about the data, or that look suspicious. Each "
    "changes the figures if it is wrong."
)

LIMITS = (
    (
        Strong("A low risk is no guarantee. "),
        "The risk was measured with one attack. Other attacks, or those of the future, "
        "may succeed where it fails.",
    ),
    (
        Strong("It is about one question: was a record in the training data? "),
        "Whether unknown attributes of a person can be inferred, or whole records "
        "reconstructed, was not measured.",
    ),
    (
        Strong("It is about an attacker who sees the answers of the model. "),
        "One who has the model itself, with its parameters (a white-box attacker), or "
        "who watched its training, may learn more.",
    ),
    (
        Strong("It is about this model and these data. "),
        "Other models, and later versions of this one, need an audit of their own. "
        "Several models trained on the same records reveal more together.",
    ),
    (
        Strong("It is about the records in the data. "),
        "People who are not in them can be affected by the model too, by what it says "
        "about people like them.",
    ),
    (
        Strong("It is not legal advice. "),
        "Figures such as these serve a data-protection impact assessment (Article "
        "35(7) of the General Data Protection Regulation). Whether a model is "
        "anonymous, or a risk acceptable, is a legal judgement. For it the chance of "
        "every person in the training data counts, and not the mean (Opinion 28/2024 "
        "of the European Data Protection Board).",
    ),
)


def methods(risk):
    """Explain each method, one paragraph each."""
    shadows, level = risk["n_shadows"], f"{risk['confidence_level']:.0%}"
    rate = f"{risk['at_risk']['false_discovery_rate']:.0%}"
    return (
        Part(
            "The attack",
            [
                f"{count(shadows, 'further model')} of the same kind, called shadow "
                "models, were trained on random halves of the records. So each record "
                "is in the training data of about half of them. The likelihood ratio "
                "attack (LiRA) compares how a model answers for a record with how the "
                "shadow models answer that were trained with it, and with how the "
                "others answer [1]."
            ],
        ),
        Part(
            "The risk of a record",
            [
                "The risk is how often this attack is right whether the record was in "
                "the training data, when both are equally likely. It goes from 50% "
                "(guessing) to 100% (always right). What the shadow models show about "
                "a single record is combined with what is known from similar records, "
                "as statisticians do to estimate incomes in small towns [2]. The more "
                "shadow models, the more the record's own measurement counts."
            ],
        ),
        Part(
            "Intervals",
            [
                f"Each {level} interval of a risk was made by a method whose intervals "
                f"contain the true value in {level} of cases. For the most exposed "
                "records of small data the intervals can be too narrow."
            ],
        ),
        Part(
            "Records at risk",
            [
                "For each record it was tested whether the attack does better than "
                "guessing. Among many tests some succeed by chance. The list is made "
                f"so that at most {rate} of its records are expected to be there by "
                "chance, even if the records depend on each other [3]."
            ],
        ),
        Part(
            "The lower bound on ε",
            [
                "From how many training records the attack recognises and how many "
                "others it accuses, each with the interval of Clopper and Pearson [4], "
                "it follows how much a guarantee of differential privacy would have to "
                "allow at least [5]."
            ],
        ),
    )


SCORES = (
    "These scores are computed from the data and the model without further attacks. In "
    "all of them a higher value means more exposed, unless the table says otherwise. "
    "The weight is how much of the prediction of the risk a score carries by itself. "
    "Missing: the number of records for which it could not be computed."
)

GLOSSARY = [
    (
        "AUC",
        "Area under the curve: how often the attacker tells a record of the training "
        "data from another one, shown both. 50% is guessing, 100% is always.",
    ),
    (
        "Differential privacy, ε",
        "A mathematical guarantee for everyone in the training data: the model would "
        "be nearly the same without them. The smaller ε (epsilon), the stronger the "
        "guarantee.",
    ),
    (
        "False discovery rate",
        "The part of a list of records that are expected to be on it by mistake.",
    ),
    (
        "FPR, false positive rate",
        "The part of the records outside the training data that the attacker takes "
        "for training records.",
    ),
    (
        "Interval",
        "The range in which the true value lies, at the stated confidence.",
    ),
    (
        "Limit of detection",
        "The risk at which a record that nothing else gives away has an even chance of "
        "being found by the audit. Smaller risks can be missed.",
    ),
    (
        "Membership inference",
        "An attack that tells whether a record was in the training data.",
    ),
    (
        "Onion effect",
        "When exposed records are left out, other records become exposed.",
    ),
    ("Record", "A row of the data, usually about one person."),
    (
        "Risk, attack success",
        "How often an attacker is right whether a record was in the training data, "
        "from 50% (guessing) to 100% (always right). Higher is more exposed.",
    ),
    (
        "Shadow model",
        "A model of the same kind, trained on some of the records to see how its "
        "answers change with them.",
    ),
    (
        "TPR, true positive rate",
        "The part of the training records that the attacker recognises.",
    ),
]


def _reference(number, text, address):
    return (f"[{number}] {text} ", Link(address.removeprefix("https://"), address))


REFERENCES = [
    _reference(
        1,
        "N. Carlini et al. (2022). Membership inference attacks from first principles. "
        "IEEE Symposium on Security and Privacy.",
        "https://doi.org/10.1109/SP46214.2022.9833649",
    ),
    _reference(
        2,
        "R. E. Fay and R. A. Herriot (1979). Estimates of income for small places. "
        "Journal of the American Statistical Association 74.",
        "https://doi.org/10.1080/01621459.1979.10482505",
    ),
    _reference(
        3,
        "Y. Benjamini and Y. Hochberg (1995). Controlling the false discovery rate: a "
        "practical and powerful approach to multiple testing. Journal of the Royal "
        "Statistical Society B 57.",
        "https://doi.org/10.1111/j.2517-6161.1995.tb02031.x",
    ),
    _reference(
        4,
        "C. J. Clopper and E. S. Pearson (1934). The use of confidence or fiducial "
        "limits illustrated in the case of the binomial. Biometrika 26.",
        "https://doi.org/10.1093/biomet/26.4.404",
    ),
    _reference(
        5,
        "M. Jagielski, J. Ullman and A. Oprea (2020). Auditing differentially private "
        "machine learning: how private is private SGD? NeurIPS.",
        "https://arxiv.org/abs/2006.07709",
    ),
    (
        "European Data Protection Board (2024). Opinion 28/2024 on certain data "
        "protection aspects related to the processing of personal data in the context "
        "of AI models."
    ),
    "Regulation (EU) 2016/679 (General Data Protection Regulation), Article 35(7).",
]
