"""The questions of the Human Evaluation Datasheet, HEDS 3.0 (Belz & Thomson 2024), as its form numbers and names them.

Numbers and ids are the form's, so that it takes our file; the words are our own and short. The form with its
explanations: https://nlp-heds.github.io
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# ISO 639-1, in the order in which the form numbers them
LANGUAGE_CODES = """
ab Abkhazian; aa Afar; af Afrikaans; ak Akan; sq Albanian; am Amharic; ar Arabic; an Aragonese; hy Armenian;
as Assamese; av Avaric; ae Avestan; ay Aymara; az Azerbaijani; bm Bambara; ba Bashkir; eu Basque;
be Belarusian; bn Bengali; bi Bislama; bs Bosnian; br Breton; bg Bulgarian; my Burmese; ca Catalan;
ch Chamorro; ce Chechen; ny Chichewa; zh Chinese; cu Church Slavic; cv Chuvash; kw Cornish; co Corsican;
cr Cree; hr Croatian; cs Czech; da Danish; dv Divehi; nl Dutch; dz Dzongkha; en English; eo Esperanto;
et Estonian; ee Ewe; fo Faroese; fj Fijian; fi Finnish; fr French; fy Western Frisian; ff Fulah; gd Gaelic;
gl Galician; lg Ganda; ka Georgian; de German; el Greek; kl Kalaallisut; gn Guarani; gu Gujarati; ht Haitian;
ha Hausa; he Hebrew; hz Herero; hi Hindi; ho Hiri Motu; hu Hungarian; is Icelandic; io Ido; ig Igbo;
id Indonesian; ia Interlingua; ie Interlingue; iu Inuktitut; ik Inupiaq; ga Irish; it Italian; ja Japanese;
jv Javanese; kn Kannada; kr Kanuri; ks Kashmiri; kk Kazakh; km Central Khmer; ki Kikuyu; rw Kinyarwanda;
ky Kirghiz; kv Komi; kg Kongo; ko Korean; kj Kuanyama; ku Kurdish; lo Lao; la Latin; lv Latvian; li Limburgan;
ln Lingala; lt Lithuanian; lu Luba-Katanga; lb Luxembourgish; mk Macedonian; mg Malagasy; ms Malay;
ml Malayalam; mt Maltese; gv Manx; mi Maori; mr Marathi; mh Marshallese; mn Mongolian; na Nauru; nv Navajo;
nd North Ndebele; nr South Ndebele; ng Ndonga; ne Nepali; no Norwegian; nb Norwegian Bokmål;
nn Norwegian Nynorsk; ii Sichuan Yi; oc Occitan; oj Ojibwa; or Oriya; om Oromo; os Ossetian; pi Pali;
ps Pashto; fa Persian; pl Polish; pt Portuguese; pa Punjabi; qu Quechua; ro Romanian; rm Romansh; rn Rundi;
ru Russian; se Northern Sami; sm Samoan; sg Sango; sa Sanskrit; sc Sardinian; sr Serbian; sn Shona; sd Sindhi;
si Sinhala; sk Slovak; sl Slovenian; so Somali; st Southern Sotho; es Spanish; su Sundanese; sw Swahili;
ss Swati; sv Swedish; tl Tagalog; ty Tahitian; tg Tajik; ta Tamil; tt Tatar; te Telugu; th Thai; bo Tibetan;
ti Tigrinya; to Tonga; ts Tsonga; tn Tswana; tr Turkish; tk Turkmen; tw Twi; ug Uighur; uk Ukrainian; ur Urdu;
uz Uzbek; ve Venda; vi Vietnamese; vo Volapük; wa Walloon; cy Welsh; wo Wolof; xh Xhosa; yi Yiddish; yo Yoruba;
za Zhuang; zu Zulu
"""
LANGUAGES = dict(pair.strip().split(" ", 1) for pair in LANGUAGE_CODES.replace("\n", " ").split(";"))
FORM = "https://nlp-heds.github.io"
YES_NO_NA = ("Yes", "No", "Not applicable")
TEXTS = (
    "Raw or structured data",
    "Deep linguistic representation",
    "Shallow linguistic representation",
    "Text: part of a sentence",
    "Text: sentence",
    "Text: several sentences",
    "Text: document",
    "Text: dialogue",
    "Text: other",
    "Speech",
    "Visual",
    "Multi-modal",
)
TASKS = (
    "Content selection",
    "Content ordering",
    "Aggregation",
    "Referring expression generation",
    "Lexicalisation",
    "Deep generation",
    "Surface realisation",
    "Feature-controlled generation",
    "Data-to-text generation",
    "Dialogue turn generation",
    "Question generation",
    "Question answering",
    "Paraphrasing or lossless simplification",
    "Compression or lossy simplification",
    "Machine translation",
    "Summarisation",
    "End-to-end generation",
    "Image or video description",
    "Post-editing or correction",
    "Other",
)
PLACES = (
    "At a place of their own choosing",
    "In a lab, under the same conditions for all",
    "In a lab, under different conditions",
    "In real life, under the same conditions for all",
    "In real life, under different conditions",
    "In a situation made to resemble real life, the same for all",
    "In a situation made to resemble real life, different conditions",
    "Other",
)
QUALITY = (
    "Evaluators must be native speakers",
    "Automatic checks",
    "Manual checks",
    "Evaluators who fail checks are excluded",
    "Evaluations that fail checks are excluded",
    "Other",
    "None",
)
FORMS_OF_RESPONSE = (
    "Agreement with a statement",
    "Direct estimation of quality",
    "Relative estimation of quality",
    "Counting occurrences",
    "Qualitative feedback",
    "Post-editing or annotation",
    "Classification or labelling",
    "User-text interaction",
    "Task performance",
    "User-system interaction",
    "Other",
)
# the form asks for "not applicable" first and for "other" last
LANGUAGE_OPTIONS = ("Not applicable", *LANGUAGES.values(), "Other")


@dataclass(frozen=True)
class SheetQuestion:
    """One question. `id`: of its text box, or of its options without their -1, -2, …, after "heds-".

    kind: a text, one of the options, or several. asked: the lead is asked; otherwise the study knows. `more`: where
    options may need words of explanation, there is a box of its own.
    """

    number: str
    id: str
    words: str
    kind: Literal["text", "one", "several"] = "text"
    options: tuple[str, ...] = ()
    asked: bool = False
    per_criterion: bool = False

    @property
    def more(self) -> bool:
        return self.kind != "text"


def _section(before: str, asked: str, *questions: SheetQuestion) -> Iterator[SheetQuestion]:
    """The questions with the part of the id that they share, and whether they are asked."""
    for question in questions:
        is_asked = question.number in asked.split()
        per = before.startswith("criteria-")
        yield SheetQuestion(
            question.number, f"{before}{question.id}", question.words, question.kind, question.options, is_asked, per
        )


Q = SheetQuestion
RESOURCES = _section(
    "paper_and_resources-",
    "1.1.1 1.1.2 1.2 1.3.1.1 1.3.1.2 1.3.1.3 1.3.2.1 1.3.2.2 1.3.2.3",
    Q(
        "1.1.1",
        "paper-link",
        "Where is the report?",
        "one",
        (
            "The main paper",
            "An unpublished report",
            "None yet: this sheet is a preregistration",
            "None, and no preregistration",
        ),
    ),
    Q("1.1.2", "paper-experiment_identification", "Which experiment of the report is this?"),
    Q("1.2", "resources-links", "Are the resources shared?", "one", ("Yes, here", "No")),
    Q("1.3.1.1", "names_and_affiliations-person_completing_this_sheet-name", "Who fills in this sheet: name"),
    Q(
        "1.3.1.2",
        "names_and_affiliations-person_completing_this_sheet-affiliation",
        "Who fills in this sheet: affiliation",
    ),
    Q("1.3.1.3", "names_and_affiliations-person_completing_this_sheet-email", "Who fills in this sheet: e-mail"),
    Q("1.3.2.1", "names_and_affiliations-contact_author-name", "Contact author: name"),
    Q("1.3.2.2", "names_and_affiliations-contact_author-affiliation", "Contact author: affiliation"),
    Q("1.3.2.3", "names_and_affiliations-contact_author-email", "Contact author: e-mail"),
)
SYSTEM = _section(
    "system-",
    "2.1 2.2 2.3 2.4 2.5",
    Q("2.1", "input_types", "What do the systems get?", "several", (*TEXTS, "Control feature", "No input", "Other")),
    Q("2.2", "output_types", "What do the systems give?", "several", (*TEXTS, "No output", "Other")),
    Q("2.3", "tasks", "What is the systems' task?", "several", TASKS),
    Q("2.4", "input_languages", "Languages of the input", "several", LANGUAGE_OPTIONS),
    Q("2.5", "output_languages", "Languages of the output", "several", LANGUAGE_OPTIONS),
)
EVALUATORS = _section(
    "sample_evaluators_design-",
    "3.1.3.1 3.1.3.2 3.1.3.3 3.2.2.1 3.2.2.2 3.2.2.3 3.2.2.4 3.2.3 3.2.5 3.3.1 3.3.6 3.3.7 3.3.8",
    Q("3.1.1", "sample-number_of_system_outputs", "Outputs evaluated per system"),
    Q(
        "3.1.2",
        "sample-system_output_selection",
        "How were the outputs selected?",
        "one",
        (
            "At random",
            "At random, stratified",
            "Automatically, not at random",
            "By hand, arbitrarily",
            "By hand, for balance or variety",
            "Other",
        ),
    ),
    Q("3.1.3.1", "sample-statistical_power-method", "Power analysis: method"),
    Q("3.1.3.2", "sample-statistical_power-value", "Power analysis: power"),
    Q("3.1.3.3", "sample-statistical_power-script", "Power analysis: code"),
    Q("3.2.1", "evaluators-number_of_evaluators", "Number of evaluators"),
    Q("3.2.2.1", "evaluators-evaluators-expertise", "Are the evaluators experts?", "one", YES_NO_NA),
    Q(
        "3.2.2.2",
        "evaluators-evaluators-payment",
        "Are they paid?",
        "one",
        ("With money", "Otherwise, such as credits", "No", "Not applicable"),
    ),
    Q("3.2.2.3", "evaluators-evaluators-known_to_authors", "Do the authors know them?", "one", YES_NO_NA),
    Q("3.2.2.4", "evaluators-evaluators-are_authors", "Are authors among them?", "one", YES_NO_NA),
    Q("3.2.3", "evaluators-recruitment_method", "How are they recruited?"),
    Q("3.2.4", "evaluators-training_practice", "Training before the start"),
    Q(
        "3.2.5",
        "evaluators-characteristics",
        "What else is known of the evaluators? Groups only, none smaller than three.",
    ),
    Q(
        "3.3.1",
        "experimental_design-preregistered",
        "Is the experiment preregistered? Give the link.",
        "one",
        ("Yes", "No"),
    ),
    Q("3.3.2", "experimental_design-collection_method", "Medium of collection"),
    Q("3.3.3.1", "experimental_design-quality_assurance-method", "Quality assurance", "several", QUALITY),
    Q("3.3.3.2", "experimental_design-quality_assurance-description", "Quality assurance: details"),
    Q("3.3.4.1", "experimental_design-what_evaluators_see-link", "Where can the form be seen?"),
    Q("3.3.4.2", "experimental_design-what_evaluators_see-description", "What evaluators are shown"),
    Q(
        "3.3.5",
        "experimental_design-evaluator_freedom",
        "Limits of time and place",
        "several",
        (
            "At a set time",
            "Each assessment within a set time",
            "The whole within a set time",
            "The whole in one sitting",
            "None of these",
        ),
    ),
    Q(
        "3.3.6",
        "experimental_design-evaluators_can_ask_questions",
        "Can evaluators ask or give feedback?",
        "several",
        (
            "They can ask during the evaluation",
            "They are told that they can ask",
            "They give feedback afterwards",
            "Other",
            "None of these",
        ),
    ),
    Q("3.3.7", "experimental_design-experimental_conditions", "Where do they evaluate?", "one", PLACES),
    Q("3.3.8", "experimental_design-evaluators_place_of_choosing", "How do the conditions differ?"),
)
CRITERIA = _section(
    "criteria-criterion-",
    "4.1.1 4.1.2 4.1.3 4.2.1 4.2.3 4.3.1.2",
    Q("4.1.1", "criteria-quality_type", "Type of quality", "one", ("Correctness", "Goodness", "Feature")),
    Q("4.1.2", "criteria-output_aspect", "Aspect of the output", "one", ("Form", "Content", "Form and content")),
    Q(
        "4.1.3",
        "criteria-self_vs_external_frame",
        "Judged against what?",
        "one",
        ("The output in its own right", "The input", "Something outside the system"),
    ),
    Q(
        "4.2.1",
        "evaluation_mode-objective_or_subjective",
        "Objective or subjective?",
        "one",
        ("Objective", "Subjective"),
    ),
    Q("4.2.2", "evaluation_mode-absolute_or_relative", "Absolute or relative?", "one", ("Absolute", "Relative")),
    Q("4.2.3", "evaluation_mode-intrinsic_or_extrinsic", "Intrinsic or extrinsic?", "one", ("Intrinsic", "Extrinsic")),
    Q("4.3.1.1", "response_elicitation-qc_name-participant_criterion_name", "Name shown to evaluators"),
    Q("4.3.1.2", "response_elicitation-qc_name-mapped_criterion_name", "Standard name (QCET) of the criterion"),
    Q("4.3.2", "response_elicitation-participant_criterion_definiiton", "Definition shown to evaluators"),
    Q("4.3.3", "response_elicitation-size_of_scale", "Size of the scale"),
    Q("4.3.4", "response_elicitation-list_or_range", "Values of the scale"),
    Q(
        "4.3.5",
        "response_elicitation-scale_presented_as",
        "How is the scale shown?",
        "one",
        ("Options, one to choose", "Check-boxes", "Slider", "There is no scale", "Other"),
    ),
    Q("4.3.6", "response_elicitation-task_description", "The task, where there is no scale"),
    Q("4.3.7", "response_elicitation-verbatim_question", "The question, word for word"),
    Q("4.3.8", "response_elicitation-form_of_response", "Form of the response", "one", FORMS_OF_RESPONSE),
    Q("4.3.9", "response_elicitation-response_aggregation", "How are responses aggregated?"),
    Q("4.3.10", "response_elicitation-effect_size_method", "Effect size and significance"),
    Q("4.3.11.1", "response_elicitation-inter_annotator-agreement", "Agreement between evaluators: how"),
    Q("4.3.11.2", "response_elicitation-inter_annotator-agreement_score", "Agreement between evaluators: score"),
    Q("4.3.12.1", "response_elicitation-intra_annotator-intra_annotator_agreement", "Agreement with themselves: how"),
    Q(
        "4.3.12.2",
        "response_elicitation-intra_annotator-intra_annotator_agreement_score",
        "Agreement with themselves: score",
    ),
)
ETHICS = _section(
    "ethics-",
    "5.1 5.2 5.3 5.4",
    Q("5.1", "review_body", "Which ethics committee approved the experiment?"),
    Q("5.2", "personal_data", "Personal data (GDPR)?", "one", ("No", "Yes")),
    Q("5.3", "special_category_data", "Special categories of personal data?", "one", ("No", "Yes")),
    Q("5.4", "impact_assessments", "Which impact assessments were made?"),
)
QUESTIONS = (*RESOURCES, *SYSTEM, *EVALUATORS, *CRITERIA, *ETHICS)
BY_NUMBER = {question.number: question for question in QUESTIONS}
SECTIONS = {
    "1": "Paper and resources",
    "2": "Systems",
    "3": "Sample, evaluators, design",
    "4": "Criteria",
    "5": "Ethics",
}
