// Blinded views as the server sends them, for the harness. All texts are made up.

const likert = (titles, sparing = []) => ({
  kind: "likert",
  points: titles.map((title, i) => ({ value: i + 1, title, definition: "", sparing: sparing.includes(i + 1), ask: null })),
});

const criterion = (key, title, question, definition, scale, more = {}) => ({
  key, title, question, definition, scale, note: "", about: "candidate", required: true, examples: [], ...more,
});

const base = (rubric, item, more = {}) => ({
  study: {
    title: "A made-up study", arrangement: "choice", mark_unit: "letters", longest_words: null,
    formats: { context: "plain", responses: "plain", extra_texts: "plain" },
  },
  work: { token: "t-1", version: 1, draft_seq: 0, store_key: "s-1", state: "reserved", purpose: "main", can_go_back: true, receipt: null, number: 7, outcome: "", reason: "", ...more.work },
  progress: { done: 6, total: 40, minutes_left: 50 },
  rubric: {
    title: "Made up", summary: "", instructions: "Read the text on the left, then judge each response.\nYou may go back until you submit.",
    language: "en", judged: "response", presentation: "side_by_side", content_note: "",
    guidelines: [{ title: "How to use the scale", text: "Use the whole scale. Points 3 and 5 are for hard cases." }],
    explanation: { min_words: 3, max_words: 30 }, highlights: [],
    skip: { title: "Can't judge this item", reasons: [{ key: "unclear", title: "I can't understand the texts" }, { key: "upsetting", title: "The content upsets me" }] },
    ignore_item: null, set_aside_response: null, worked_example: null, training: [], ...rubric,
  },
  item: { context: null, ...item },
  draft: null, notice: null, feedback: null, routes: { draft: "desk/draft", renew: "desk/renew" },
  ...more, work: { token: "t-1", version: 1, draft_seq: 0, store_key: "s-1", state: "reserved", purpose: "main", can_go_back: true, receipt: null, number: 7, outcome: "", reason: "", ...more.work },
});

const SEVEN = likert(["Not at all", "Slightly", "More than slightly", "Partially", "More than partially", "Almost completely", "Completely"], [3, 5]);

const REVIEW_CRITERIA = [
  criterion("relevance", "Semantic relevance", "How fully does the response address what the review says?", "Compare the content only: the points the reviewer makes, and whether the response takes them up.", SEVEN),
  criterion("fluency", "Fluency", "How fluent and grammatical is the response?", "Judge the language on its own.", SEVEN),
  criterion("sentiment", "Sentiment", "How well does the response match the mood of the review?", "Praise wants thanks; a complaint wants to be taken seriously.", SEVEN),
  criterion("domain", "Domain accuracy", "How well does it fit the kind of business?", "Rooms and stays for a hotel, food and tables for a restaurant.", SEVEN),
  criterion("verdict", "Verdict", "May the response go out as the answer?", "Weigh everything.", {
    kind: "choice", options: [
      { key: "accept", title: "Accept", definition: "It may be used.", ask: null },
      { key: "reject", title: "Reject", definition: "It may not be used.", ask: null },
    ],
  }),
];

const TEXTS = [
  "Dear guest, thank you for your kind words about our breakfast and the view over the lake. We are sorry that the lift was out of order during your stay; it has been repaired since. We hope to see you again.",
  "Thanks for the review!! We are glad that you loved the food. Our chef will be happy to hear it 😀. See you next time at our restaurant.",
  "Thank you for your feedback. We regret the noise from the corridor and the broken lift. Our team has taken note, and the night manager now checks each floor after ten. Your praise of the breakfast has been passed on.",
];

const REVIEW = {
  title: "Review", stars: 4, facts: [{ title: "Domain", value: "Hotel" }], turns: [], extra_texts: [],
  text: "Lovely breakfast and a room with a view over the lake. The staff were friendly at any hour. Two things spoilt it a little: the lift was out of order for our whole stay, and we had to carry our bags to the fourth floor, and there was noise in the corridor until after midnight. We would come again, but on a lower floor.",
};

export function reviews(more = {}) {
  return base({
    criteria: REVIEW_CRITERIA,
    highlights: [{ key: "addresses", title: "Addresses the review", definition: "Takes up something it says." }, { key: "odd", title: "Out of place", definition: "" }],
    ignore_item: { title: "Ignore this review", reasons: [{ key: "nothing", title: "It says nothing that could be answered" }] },
    set_aside_response: { title: "Set this response aside", reasons: [{ key: "unsuitable", title: "It is unsuitable" }] },
  }, { context: REVIEW, candidates: TEXTS.map((text, i) => ({ letter: "ABC"[i], text, turns: [] })) }, more);
}

const EVIDENCE = { key: "evidence", title: "Evidence", definition: "What a response takes up.", marked_in: "context" };

/** A label for passages of the review, which is Markdown. */
export function evidence(more = {}) {
  const view = reviews(more);
  view.rubric.highlights.push(EVIDENCE);
  view.study.formats = { ...view.study.formats, context: "markdown" };
  view.item.context = { ...REVIEW, text: "Lovely **breakfast** 😀 and a view.\n\n- The lift was out of order." };
  return view;
}

/** The same for a dialogue, and no label for the responses. */
export function evidence_in_turns(more = {}) {
  const view = dialogue(more);
  view.rubric.highlights = [EVIDENCE];
  return view;
}

export function succession(more = {}) {
  const view = reviews(more);
  view.rubric.presentation = "succession";
  view.rubric.criteria = [...view.rubric.criteria.slice(0, 2), criterion("best", "Best response", "Which response is best?", "Ties are allowed.", { kind: "best", none_option: true }, { about: "item" })];
  return view;
}

/** Eight responses, and a question about all of them. */
export function eight(more = {}) {
  const view = succession(more);
  view.rubric.presentation = "side_by_side";
  view.item.candidates = [..."ABCDEFGH"].map((letter, i) => ({ letter, text: TEXTS[i % TEXTS.length], turns: [] }));
  return view;
}

/** A question whose answers are a list to search. */
export function cities(more = {}) {
  const view = reviews(more);
  const titles = ["東京", "京都", "大阪", "札幌", "福岡", "仙台", "広島", "奈良", "神戸", "長崎", "İzmir", "Évora", "Innsbruck"];
  const options = titles.map((title, i) => ({ key: `c${i}`, title, definition: "", ask: null }));
  view.rubric.criteria = [criterion("city", "City", "Which city is meant?", "", { kind: "choice", options }, { about: "item" })];
  return view;
}

const ask = (reasons, freeText = "optional") => ({ reasons: reasons.map((text, i) => ({ key: `r${i + 1}`, text })), free_text: freeText });

const three = (yes, no, yesAsk, noAsk) => ({
  kind: "choice", options: [
    { key: "yes", title: yes, definition: `${yes}: the response fits.`, ask: yesAsk },
    { key: "no", title: no, definition: "", ask: noAsk },
    { key: "unknown", title: "I don't know", definition: "Neither can be said.", ask: ask([], "required") },
  ],
});

export function dialogue(more = {}) {
  const turns = ["did you get round to that walk by the river", "yes, on sunday, with my sister", "oh nice, was it still flooded down there", "a bit, we turned round at the old mill and had soup instead"];
  return base({
    criteria: [
      criterion("appropriate", "Appropriateness", "Does the response fit the dialogue?", "It makes sense as the next turn.", three("Appropriate", "Not appropriate", ask(["It follows from what was said"]), ask(["It does not follow from what was said"]))),
      criterion("contextual", "Contextualization", "Does it take up what was said before?", "It refers to the dialogue.", three("Contextualized", "Not contextualized", null, ask(["It is generic", "It contradicts what was said"]))),
      criterion("listening", "Listening", "Is the speaker listening with attention?", "", { kind: "choice", options: ["Yes", "No", "I don't know"].map((title, i) => ({ key: `l${i}`, title, definition: "", ask: null })) }),
      criterion("best", "Best", "Which response is best?", "Ties are allowed.", { kind: "best", none_option: false }, { about: "item" }),
    ],
  }, {
    context: { title: "Dialogue", text: null, stars: null, facts: [], extra_texts: [], turns: turns.map((text, i) => ({ speaker: i % 2 ? "Sam" : "Kim", side: i % 2 ? "right" : "left", text })) },
    candidates: ["soup sounds perfect, which one did you have", "i like the river too", "the mill is lovely, is the path behind it open again"].map((text, i) => ({ letter: "ABC"[i], text, turns: [] })),
  }, more);
}

export function conversation(more = {}) {
  const halves = (titles) => ({
    kind: "likert", points: [0, 0.5, 1, 1.5, 2, 2.5, 3].map((value) => ({ value, title: Number.isInteger(value) ? titles[value] : "", definition: "", sparing: false, ask: null })),
  });
  const lines = ["I keep putting off the exam and it makes me feel useless.", "That sounds heavy. What happens when you sit down to study?", "I open the book, then I clean the kitchen.", "Cleaning gives you something that you can finish. Could we find a piece of the exam that is as small as a kitchen?", "Maybe one page of notes.", "One page is a good start. When would you like to do it?", "Tonight, before dinner.", "Then let us look at it tomorrow, whatever came of it."];
  return base({
    judged: "conversation", content_note: "Some conversations speak of exam stress and low mood. You may stop at any time; write to the lead, or call the help line printed on the sheet.",
    highlights: [{ key: "empathy", title: "Empathy", definition: "" }],
    criteria: ["Fluency", "Empathy", "Identification", "Comforting", "Suggestion", "Comprehensibility"].map((title) =>
      criterion(title.toLowerCase(), title, `How good is the supporter's ${title.toLowerCase()}?`, `Judge ${title.toLowerCase()} over the whole conversation.`, halves(["None", "Little", "Good", "Excellent"]))).concat(
      criterion("effort", "Effort", "How hard was this one to judge?", "0 is easy.", { kind: "number", low: 0, high: 100, step: 5, unit: "%", low_title: "Easy", high_title: "Hard" }, { required: false })),
  }, {
    candidates: [{ letter: "A", text: null, turns: lines.map((text, i) => ({ speaker: i % 2 ? "Supporter" : "Seeker", side: i % 2 ? "right" : "left", text })) }],
  }, more);
}

export function training(more = {}) {
  return conversation({
    feedback: { rows: [
      { criterion: "fluency", slot: "A", given: "2", reference: "2.5", verdict: "close", reason: "Easy to read, with small slips." },
      { criterion: "empathy", slot: "A", given: "3", reference: "3", verdict: "same", reason: "The supporter names what the seeker feels." },
      { criterion: "suggestion", slot: "A", given: "0", reference: "2", verdict: "different", reason: "One page of notes is a concrete step." },
    ] },
    draft: { ratings: { A: { fluency: 2, empathy: 3, suggestion: 0 } } }, ...more,
  });
}

/** What a lead sees of a study: the same, with nowhere to send it. */
export function preview(more = {}) {
  return reviews({ routes: { draft: "", renew: "", act: "" }, ...more });
}

/** Scripts, emoji made of several code points, right-to-left text. */
export function scripts(more = {}) {
  const view = reviews(more);
  view.item.candidates = [
    { letter: "A", text: "Ça va 👩‍👩‍👧‍👦 bien 😀 e\u0301te\u0301 <img src=x onerror=alert(1)>", turns: [] },
    { letter: "B", text: "תודה רבה, the room was מצוין", turns: [] },
  ];
  return view;
}

export function long(more = {}) {
  const view = reviews(more);
  view.item.context = { ...REVIEW, text: "A line of a very long text that goes on and on.\n".repeat(22000) };
  return view;
}

export function manyTurns(more = {}) {
  const view = dialogue(more);
  view.item.context.turns = Array.from({ length: 2000 }, (_, i) => ({ speaker: i % 2 ? "Sam" : "Kim", side: i % 2 ? "right" : "left", text: `turn number ${i} of a long talk` }));
  return view;
}
