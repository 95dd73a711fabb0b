"""The text of a report, for a terminal."""

import copy

import pytest

from skpriv.report import format_report


def make_score(title, **changes):
    return {
        "title": title,
        "meaning": f"what {title} says",
        "about": "neighbors",
        "error_bound": 0.0,
        "missing": 0,
        "distribution": {
            "minimum": 0.0,
            "lower_quartile": 0.0,
            "median": 0.0,
            "upper_quartile": 0.0,
            "maximum": 0.1,
            "mean": 0.0123456,
            "unexposed": 0.75,
        },
        "top_shares": {"1%": 0.2, "10%": None},
        "by_class": {
            "no": {
                "records": 1500,
                "mean": 0.01,
                "part_of_records": 0.6,
                "part_of_sum": 0.25,
            },
            "yes": {
                "records": 1000,
                "mean": 0.03,
                "part_of_records": 0.4,
                "part_of_sum": 0.75,
            },
        },
        **changes,
    }


@pytest.fixture
def report():
    column = {"n_missing": 0, "n_distinct": 9, "left_out": None}
    return {
        "skpriv": "0",
        "data": {
            "source": "people.csv",
            "records": 2500,
            "label": "ill",
            "classes": {"no": 1500, "yes": 1000},
            "quantity": None,
            "features": 7,
            "notes": [],
            "columns": [
                {"name": "age", "kind": "number", **column, "n_missing": 3},
                {"name": "job", "kind": "category", **column},
                {"name": "town", "kind": "category", **column},
                {"name": "since", "kind": "date", **column},
                {"name": "id", "kind": "number", **column, "left_out": "identifier"},
            ],
        },
        "model": {
            "name": "k-nearest neighbours",
            "n_neighbors": 5,
            "left_out": "each record",
            "accuracy": 0.875,
            "accuracy_by_class": {"no": 1.0, "yes": 0.6875},
            "most_frequent_class": "no",
            "part_of_most_frequent_class": 0.6,
        },
        "neighbors": None,
        "too_slow": [],
        "attack": None,
        "scores": {"waka": make_score("WaKA"), "loo": make_score("leave-one-out")},
        "most_exposed": [
            {
                "record": 1234,
                "label": "yes",
                "waka": 0.1,
                "waka_percentile": 99.98,
                "loo": 0.2,
                "loo_percentile": 88.0,
                "like_neighbors": 0.2,
            }
        ],
        "records": {},
    }


@pytest.fixture
def report_of_five(report):
    """A report with as many scores as there can be, of a fitted model."""
    fitted = {"name": "logistic regression", "n_neighbors": None, "left_out": "a fifth"}
    fitted |= {"effective_parameters": 12.34, "not_converged": 0}
    report["neighbors"] = report["model"]
    report["model"] = {**report["model"], **fitted}
    titles = ("leverage", "predicted attack", "WaKA", "Shapley", "leave-one-out")
    report["scores"] = {title: make_score(title) for title in titles}
    for title in titles[:2]:
        report["scores"][title]["about"] = "model"
    (top,) = report["most_exposed"]
    for title in titles:
        top |= {title: 1.234e-05, f"{title}_percentile": 98.7}
    return report


def make_interval(value):
    return {"value": value, "low": value - 0.01, "high": value + 0.01}


@pytest.fixture
def report_of_an_attack(report_of_five):
    report_of_five["attack"] = {
        "n_shadows": 64,
        "confidence_level": 0.95,
        "success": make_interval(0.523),
        "success_by_class": {c: make_interval(0.6) for c in ("no", "yes")},
        "auc": make_interval(0.5432),
        "tpr": {
            "0.1%": dict.fromkeys(("value", "low", "high")),
            "1.0%": make_interval(0.0345),
        },
        "at_risk": {
            "false_discovery_rate": 0.05,
            "records": 1234,
            "part_of_records": 0.4936,
            "surest": [71, 7],
        },
        "agreement": {
            title: {**make_interval(0.41), "attainable": 0.72, "top": 0.3}
            for title in report_of_five["scores"]
        },
    }
    (top,) = report_of_five["most_exposed"]
    top |= {"attack_success": 0.77, "attack_success_low": 0.7, "at_risk": True}
    return report_of_five


@pytest.fixture
def report_of_a_quantity(report):
    report["data"] |= {"classes": None}
    report["data"]["quantity"] = {"minimum": -1.5, "maximum": 1234567.0}
    report["model"] = {
        "name": "ridge regression",
        "n_neighbors": None,
        "left_out": "a fifth of the records",
        "effective_parameters": 12.34,
        "not_converged": 0,
        "r2": 0.456,
    }
    for score in report["scores"].values():
        score["by_class"] = None
    del report["most_exposed"][0]["like_neighbors"]
    report["most_exposed"][0]["label"] = 1234.5
    return report


def row_with(text, word):
    (line,) = [line for line in text.splitlines() if word in line]
    return line.split()


def test_most_exposed_records_are_listed_with_their_scores(report):
    row = row_with(format_report(report), "1234")
    assert row == ["1234", "yes", "0.1", "100.0", "0.2", "88.0", "20%"]


def test_spread_and_classes_are_listed(report):
    text = format_report(report)
    assert "0.01235" in text
    assert row_with(text, "25.0%") == ["no", "1,500", "0.01", "60.0%", "25.0%"]
    assert text.index("  yes  ") < text.rindex("  no  ")


def test_data_and_encoding_are_told(report):
    text = " ".join(format_report(report).split())
    assert "people.csv: 2,500 records" in text
    assert "ill: no 1,500 (60.0%), yes 1,000 (40.0%)" in text
    assert "1 number scaled, 2 categories one-hot, 1 date scaled" in text
    assert "missing values marked in age" in text
    assert "left out as identifier: id" in text
    assert "predicts 87.5% of the labels correctly when each record is left out" in text
    assert "always answering no would be correct for 60.0%" in text


def test_direction_and_meaning_are_told(report):
    text = format_report(report)
    assert "Higher is more exposed" in text
    assert "WaKA: what WaKA says." in text


def test_a_score_that_is_not_exact_says_so(report):
    assert "of exact" not in format_report(report)
    report["scores"]["loo"]["error_bound"] = 0.001
    assert (
        "what leave-one-out says. Values are within 0.001 of exact."
        in format_report(report)
    )


@pytest.mark.parametrize(
    "kind",
    ["report", "report_of_five", "report_of_a_quantity", "report_of_an_attack"],
)
def test_lines_are_narrow_and_nothing_trails(kind, request):
    report = request.getfixturevalue(kind)
    report["data"]["columns"] *= 40
    report["most_exposed"][0] |= {"record": 123_456_789, "label": "a very long " * 10}
    for line in format_report(report).splitlines():
        assert len(line) <= 88
        assert line == line.rstrip()


def test_many_scores_are_listed_without_percentiles(report_of_five):
    text = format_report(report_of_five)
    assert row_with(text, "1234 ") == ["1234", "yes", *["1.234e-05"] * 5, "20%"]
    assert "predicted" in text
    assert "pct" not in text


def test_fitted_model_and_neighbours_are_told(report_of_five):
    text = " ".join(format_report(report_of_five).split())
    assert "Model logistic regression. It predicts 87.5% of the labels" in text
    assert "It has 12.3 effective parameters" in text
    assert (
        "k-NN k-nearest neighbours, k = 5, used by WaKA, Shapley and leave-one-out. "
        "It predicts 87.5% of the labels"
    ) in text
    assert "not converged" not in text


def test_a_model_that_has_not_converged_says_so(report_of_five):
    report_of_five["model"] |= {"effective_parameters": None, "not_converged": 2345}
    text = " ".join(format_report(report_of_five).split())
    assert "For 2,345 records it has not converged." in text
    assert "effective parameters" not in text


def test_missing_scores_are_shown_and_counted(report_of_five):
    report = copy.deepcopy(report_of_five)
    report["most_exposed"][0]["leverage"] = None
    score = report["scores"]["leverage"]
    score["missing"] = 2345
    score["distribution"] = dict.fromkeys(score["distribution"])
    score["by_class"]["no"] |= {"mean": None, "part_of_sum": None}
    text = format_report(report)
    assert row_with(text, "1234 ")[:4] == ["1234", "yes", "NaN", "1.234e-05"]
    assert "no score can be trusted (leverage of 2,345 records)" in " ".join(
        text.split()
    )
    assert row_with(text, "no     ") == ["no", "1,500", "NaN", "60.0%", "-"]
    assert text.index("  yes  ", text.index("by class")) < text.index("  no     ")
    assert "NaN" not in format_report(report_of_five)


def test_an_attack_is_told(report_of_an_attack):
    text = format_report(report_of_an_attack)
    assert row_with(text, "1234 ") == ["1234", "yes", *["1.234e-05"] * 5, "77%"]
    assert row_with(text, "25.0%")[-1] == "60.0%"
    assert row_with(text, "52.3%")[-3:] == ["52.3%", "51.3%", "53.3%"]
    assert row_with(text, "54.3%")[0] == "AUC"
    assert row_with(text, "TPR at 1.0% FPR")[-3] == "3.5%"
    assert row_with(text, "TPR at 0.1% FPR")[-3:] == ["-", "-", "-"]
    agreement = text[text.index("How well the scores") : text.index("Higher is")]
    row = row_with(agreement, "  WaKA  ")
    assert row[1:] == ["0.41", "0.40", "0.42", "0.72", "30.0%"]
    flat = " ".join(text.split())
    assert "(LiRA), with 64 shadow models" in flat
    assert "-: there are too few records to tell." in flat
    assert "clearly better than guessing on 1,234 records (49.4%);" in flat
    assert "at most 5% of these" in flat
    assert "The evidence is strongest for 71, 7 (" in flat


def test_few_scores_leave_room_for_neighbours_and_the_attack(report_of_an_attack):
    report = report_of_an_attack
    report["scores"] = {"WaKA": report["scores"]["WaKA"]}
    report["attack"]["agreement"] = {"WaKA": report["attack"]["agreement"]["WaKA"]}
    row = row_with(format_report(report), "1234 ")
    assert row == ["1234", "yes", "1.234e-05", "98.7", "20%", "77%"]


def test_an_attack_that_shows_nobody_and_agrees_with_nothing_is_told(
    report_of_an_attack,
):
    attack = report_of_an_attack["attack"]
    attack["at_risk"] |= {"records": 0, "part_of_records": 0.0, "surest": []}
    attack["agreement"]["WaKA"] = dict.fromkeys(attack["agreement"]["WaKA"])
    text = format_report(report_of_an_attack)
    assert "There is no record on which the attack is clearly" in " ".join(text.split())
    assert "strongest" not in text
    agreement = text[text.index("How well the scores") : text.index("Higher is")]
    assert row_with(agreement, "  WaKA  ")[1:] == ["-"] * 5


def test_no_attack_is_not_mentioned(report):
    assert "LiRA" not in format_report(report)


def test_missing_percentile_is_a_dash(report):
    report["most_exposed"][0] |= {"waka": None, "waka_percentile": None}
    row = row_with(format_report(report), "1234")
    assert row == ["1234", "yes", "NaN", "-", "0.2", "88.0", "20%"]


def test_report_of_a_quantity_has_no_classes(report_of_a_quantity):
    text = format_report(report_of_a_quantity)
    flat = " ".join(text.split())
    assert "ill: from -1.5 to 1.23457e+06" in flat
    assert "It explains 45.6% of the variance of the label when a fifth" in flat
    assert row_with(text, "1234.5")[:3] == ["1234", "1234.5", "0.1"]
    assert "class" not in text
    assert "agree" not in text


def test_a_score_that_takes_too_long_is_named(report):
    report["too_slow"] = ["Shapley"]
    assert "Shapley: left out, since it takes too long" in format_report(report)


def test_many_classes_are_cut_short(report):
    part = report["scores"]["waka"]["by_class"]["no"]
    many = {f"c{i}": {**part, "mean": i} for i in range(30)}
    report["scores"]["waka"]["by_class"] = many
    report["data"]["classes"] = dict.fromkeys(many, 50)
    text = format_report(report)
    assert "and 24 more" in text
    assert "the 10 most exposed of 30" in text
    assert "c20 " in text
    assert "c19" not in text


def test_a_label_cannot_command_the_terminal(report):
    report["most_exposed"][0]["label"] = "\x1b[31mred\nline"
    report["data"]["source"] = "\x1b[2J.csv"
    text = format_report(report)
    assert "\x1b" not in text
    assert "\\x1b[31mred\\nline" in text
