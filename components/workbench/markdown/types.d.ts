// The shapes of a parsed text: mdast as far as it is drawn here, and where its characters come from.

export interface Place {
  line: number;
  column: number;
  offset: number;
}

export interface Mdast {
  type: string;
  position: { start: Place; end: Place };
  children?: Mdast[];
  value?: string;
  depth?: number; // of a heading
  ordered?: boolean | null;
  spread?: boolean | null;
  start?: number | null; // of a list
  checked?: boolean | null; // of a task
  lang?: string | null; // of code
  url?: string;
  identifier?: string;
  alt?: string | null;
  align?: (string | null)[]; // of a table's columns
}

/** Characters as the parser hands them on, and the range of the raw text that they stand for. */
export type Leaf = { start: number; end: number; text: string };

export type Parsed = {
  tree: Mdast;
  leaves: Leaf[];
  shift: number; // what the parser leaves out at the beginning
};

export type MarkdownSource = Parsed & { raw: string; definitions: Map<string, string | undefined> };

export interface Token {
  start: Place;
  end: Place;
}

/** What `this` is in a handler of mdast-util-from-markdown. */
export interface Compiler {
  stack: any[];
  data: Record<string, any>;
  config: { canContainEols: string[] };
  sliceSerialize(token: Token): string;
}
