// The shapes of a parsed text: the parts of mdast that are drawn, and the source positions of characters.

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

/** Characters as the parser returns them, and the range of the raw text that they come from. */
export type Leaf = { start: number; end: number; text: string };

export type Parsed = {
  tree: Mdast;
  leaves: Leaf[];
  shift: number; // characters that the parser skips at the start
};

export type MarkdownSource = Parsed & { raw: string; definitions: Map<string, string | undefined> };

export interface Token {
  start: Place;
  end: Place;
}

/** The type of `this` in a handler of mdast-util-from-markdown. */
export interface Compiler {
  stack: any[];
  data: Record<string, any>;
  config: { canContainEols: string[] };
  sliceSerialize(token: Token): string;
}
