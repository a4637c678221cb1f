// The shapes of messages between server and browser, defined by the Python modules in triptych/annotate/, and those that
// several modules of the workbench share.

// ---- the blinded view ----

/** How the texts of an item's fields are drawn. */
export type Formats = Record<"context" | "responses" | "extra_texts", "plain" | "markdown">;

export interface View {
  study: { title: string; formats: Formats; arrangement: string; mark_unit: MarkUnit; longest_words: number | null };
  work: Work;
  progress: { done: number; total: number; minutes_left: number | null };
  rubric: Rubric;
  item: { context: Context | null; candidates: Candidate[] };
  draft: Partial<Draft> | null;
  notice: Notice | null;
  feedback: { rows: FeedbackRow[] } | null;
  routes: { draft: string; renew: string; act: string; items: string }; // empty in a preview
}

export interface Work {
  token: string;
  version: number;
  draft_seq: number;
  store_key: string;
  state: "reserved" | "submitted";
  purpose: string;
  active_seconds: number;
  can_go_back: boolean;
  receipt: string | null;
  number: number; // the item's place in the order in which the annotator was shown items
  outcome: "" | "rated" | "ignored" | "skipped";
  reason: string;
}

/** The annotator's own items, oldest first. */
export interface OwnItems {
  items: {
    number: number; token: string; state: "open" | "rated" | "ignored" | "skipped"; reason: string; noted: boolean;
    begins: string; at: string | null; seconds: number;
  }[];
  done: number;
  total: number;
  minutes_left: number | null;
  seconds_per_item: number | null;
}

export interface Rubric {
  title: string;
  instructions: string;
  language: string; // of the judged texts
  wording: string; // the language of the rubric's own words
  untranslated: string[]; // the rubric's words that are not in that language
  judged: "response" | "conversation";
  presentation: string;
  content_note: string;
  guidelines: Titled[];
  criteria: Criterion[];
  explanation: Limits;
  highlights: Label[];
  skip: Leaving | null;
  ignore_item: Leaving | null;
  set_aside_response: Leaving | null;
  worked_example: RatedExample | null;
  training: RatedExample[];
}

/** An item with its scores and their reasons. */
export interface RatedExample {
  context: Context | null;
  candidates: Candidate[];
  scores: { criterion: string; slot: string | null; score: string; reason: string }[];
}

/** The page before the first item. */
export interface Instructions {
  language: string; // of the page
  version: string;
  changed: boolean;
  study: string;
  own: Titled[];
  contact: string;
  rubric: Rubric;
  items: number;
  minutes: number | null;
  pay: string;
  training: number;
}

export interface Criterion {
  key: string;
  title: string;
  question: string;
  definition: string;
  note: string;
  about: "candidate" | "item";
  required: boolean;
  scale: Scale;
  examples: { context: Turn[]; candidates: { text: string; rating: string; reason: string }[] }[];
}

export type Scale = Likert | Choice | NumberScale | Best;
export type Likert = { kind: "likert"; points: Option[]; sparing_note: string };
export type Choice = { kind: "choice"; options: (Omit<Option, "value"> & { key: string })[] };
export type Best = { kind: "best"; none_option: boolean };
export interface NumberScale {
  kind: "number";
  low: number;
  high: number;
  step: number;
  unit: string;
  low_title: string;
  high_title: string;
}

/** One answer that a scale offers. */
export interface Option {
  value: number | string;
  title: string;
  definition: string;
  sparing?: boolean;
  apart?: boolean;
  ask: Ask | null;
}

/** What an answer asks for besides its value. */
export type Ask = { reasons: { key: string; text: string }[]; free_text: "none" | "optional" | "required" };
export type Limits = { min_words: number; max_words: number; sample: string };
export type Label = { key: string; title: string; definition: string; marked_in: "candidate" | "context" };
export type Leaving = { title: string; reasons: { key: string; title: string }[] };
export type Titled = { title: string; text: string };
export type Turn = { speaker: string; side: string; text: string };
export type Candidate = { letter: string; text: string | null; turns: Turn[] };
export type Notice = { kind: string; text: string };

export interface Context {
  title: string;
  text: string | null;
  turns: Turn[];
  stars: number | null;
  facts: { title: string; value: string }[];
  extra_texts: Titled[];
}

export interface FeedbackRow {
  criterion: string;
  slot: string | null;
  given: string;
  reference: string;
  verdict: string;
  reason: string;
}

// ---- answers ----

/** A rating: a point, an option's key, or the letters of the best responses. Undefined while unanswered. */
export type Value = number | string | string[] | undefined;

export type Explanation = { reasons: string[]; text: string };

/** The unit to which a selection is extended; selections by keys are not extended. */
export type MarkUnit = "words" | "letters";

/** A labelled span; offsets count code points. */
export interface Highlight {
  slot: string; // of a response, or "context"
  turn: number | null;
  start: number;
  end: number;
  label: string;
  comment: string;
  unit?: MarkUnit | null; // null: not known
}

export interface Draft {
  ratings: Record<string, Record<string, Value>>; // by slot and criterion
  explanations: Record<string, Record<string, Record<string, Partial<Explanation>>>>; // by slot, criterion and value
  highlights: Highlight[];
  set_aside: Record<string, string>; // reasons, by slot
  note: string;
}

// ---- messages ----

export interface DraftMessage {
  assignment: string;
  version: number;
  pen: string;
  active_seconds: number;
  draft: Draft;
  seq: number;
  base: number;
  take: boolean;
}

/** An action that ends the work on an item; it is repeated with the same submission id until it is answered. */
export interface FinalAction {
  kind: "submit" | "skip" | "ignore";
  assignment: string;
  version: number;
  pen: string;
  active_seconds: number;
  base: number;
  submission: string;
  text_view: "written" | "formatted" | "mixed"; // how the item's texts were drawn
  language: string; // of the page
  answers?: Draft;
  arrangement?: string | null;
  reason?: string;
  text?: string;
}

export type Action =
  | FinalAction
  | { kind: "back" | "forward" | "continue"; assignment: string; version?: undefined; submission?: undefined }
  | { kind: "open"; assignment: string; item: string; version?: undefined; submission?: undefined }
  | { kind: "next_response"; assignment: string; version?: undefined; submission?: undefined; answers: Draft }
  | { kind: "stay"; assignment?: undefined; version?: undefined; submission?: undefined }
  | { kind: "stop" };

/** The parts of the routes' answers that the workbench reads. */
export interface Answer {
  message?: string;
  stored?: number; // of a draft
  refused?: string;
  draft?: Partial<Draft>;
  draft_seq?: number;
  view?: Omit<View, "rubric"> & { rubric?: Rubric }; // of an action
  showing?: string | null;
  nothing?: string;
  items?: OwnItems["items"]; // of the list, with the rest of OwnItems
}

export type Reply = { status: number; answer: Answer | null };

/** Sends a message as JSON text; rejects on a network error. */
export type Post = (text: string, options?: RequestInit) => Promise<Reply>;

// ---- inside the workbench ----

/** What Streamlit passes to a component; it triggers events with a value. */
export interface Component<Data, Event> {
  parentElement: HTMLElement;
  data: Data;
  setTriggerValue(name: string, value: Event): void;
}

export type Question = { id: string; slot: string; criterion: Criterion };
export type Problem = Question & { problem: string };
export type Change = { path: string[]; undone: boolean };
export type SaveState = "saved" | "saving" | "waiting";
export type Layout = "dock" | "single" | "phone";
export type Timer = unknown;

export interface Clock {
  now(): number; // monotonic milliseconds
  later(act: () => void, ms: number): Timer;
  cancel(timer: Timer): void;
}

/** An unacknowledged draft stored on this computer; `action` is a final action that has no answer yet. */
export type LocalDraft = { time: number; base: number; seq: number; draft: Draft; action?: FinalAction };

/** The elements drawn for an item. */
export interface Page {
  head: HTMLElement;
  work: HTMLElement;
  guidelines: HTMLElement;
  board: HTMLElement;
  foot: HTMLElement;
  fieldsets: Map<string, HTMLFieldSetElement>; // by question, in the order of the screen
}
