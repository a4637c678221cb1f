// Parses a raw text to an mdast tree, and lists the source position of each character.

import {
  fromMarkdown, gfmStrikethrough, gfmStrikethroughFromMarkdown, gfmTable, gfmTableFromMarkdown, gfmTaskListItem,
  gfmTaskListItemFromMarkdown, math, mathFromMarkdown,
} from "./vendor/parser.js";

/** @import { Compiler, Leaf, Parsed, Place, Token } from "./types.js" */

const MAX_FORMULA = 2_000; // characters of one formula
const BACKSLASH = 92;
const DOLLAR = 36;

/** @param {Place} place */
const pointOf = ({ line, column, offset }) => ({ line, column, offset });
/** @param {number | null} code */
const isLineEnding = (code) => code !== null && code < -2;

/** @param {number | null} code */
const isSpace = (code) => code === null || code < 0 || code === 32;

/**
 * Collects leaves in the order of the text; a leaf is data, an escape, a character reference or a line ending. The
 * handlers repeat those of mdast-util-from-markdown.
 * @param {Leaf[]} leaves
 */
function collectLeaves(leaves) {
  /** @param {number} start @param {number} end @param {string} text */
  const add = (start, end, text) => leaves.push({ start, end, text });

  /** @this {Compiler} @param {Token} token */
  function enterData(token) {
    const { children } = this.stack.at(-1);
    let tail = children.at(-1);
    if (!tail || tail.type !== "text") {
      tail = { type: "text", value: "", position: { start: pointOf(token.start), end: undefined } };
      children.push(tail);
    }
    this.stack.push(tail);
  }

  /** Ends the open text with that of a token, which it returns. @param {Compiler} compiler @param {Token} token */
  function endText(compiler, token) {
    const tail = compiler.stack.pop();
    const text = compiler.sliceSerialize(token);
    tail.value += text;
    tail.position.end = pointOf(token.end);
    return text;
  }

  /** @this {Compiler} @param {Token} token */
  function exitData(token) {
    add(token.start.offset, token.end.offset, endText(this, token));
  }

  /** @this {Compiler} @param {Token} token */
  function exitEscape(token) {
    add(token.start.offset - 1, token.end.offset, endText(this, token)); // including its backslash
  }

  /** @this {Compiler} @param {Token} token */
  function enterReference(token) {
    enterData.call(this, token);
    this.data.referenceFrom = this.stack.at(-1).value.length;
  }

  /** @this {Compiler} @param {Token} token */
  function exitReference(token) {
    const tail = this.stack.pop();
    tail.position.end = pointOf(token.end);
    add(token.start.offset, token.end.offset, tail.value.slice(this.data.referenceFrom));
  }

  /** @this {Compiler} @param {Token} token */
  function exitLineEnding(token) {
    const context = this.stack.at(-1);
    if (this.data.atHardBreak) {
      context.children.at(-1).position.end = pointOf(token.end);
      this.data.atHardBreak = undefined;
    } else if (!this.data.setextHeadingSlurpLineEnding && this.config.canContainEols.includes(context.type)) {
      enterData.call(this, token);
      const text = endText(this, token);
      add(token.start.offset, token.start.offset + text.length, text); // its end includes the next line's prefix
    }
  }

  return {
    enter: { characterReference: enterReference },
    exit: {
      data: exitData, codeTextData: exitData, codeFlowValue: exitData, htmlTextData: exitData, htmlFlowData: exitData,
      characterEscapeValue: exitEscape, characterReference: exitReference, lineEnding: exitLineEnding,
    },
  };
}

/**
 * Formulas in `\( … \)` and `\[ … \]`, which CommonMark treats as escaped brackets, and in `$ … $` by Pandoc's rule (no
 * space inside, no digit after it), so that prices are not formulas. A formula has one token per line.
 */
function formulas() {
  /** @param {number} opening @returns {(effects: any, ok: any, nok: any) => any} */
  const tokenizer = (opening) => (effects, ok, nok) => {
    let closing = opening;
    let length = 0;
    /** @type {number | null} */
    let before = null;

    /** @param {number | null} code @returns {any} */
    function start(code) {
      effects.enter("formula");
      effects.consume(code);
      return opening === DOLLAR ? first : bracket;
    }
    /** @param {number | null} code @returns {any} */
    function bracket(code) {
      if (code !== 40 && code !== 91) return nok(code);
      closing = code === 40 ? 41 : 93;
      effects.consume(code);
      return inside;
    }
    /** @param {number | null} code @returns {any} */
    const first = (code) => (code === DOLLAR || isSpace(code) ? nok(code) : inside(code));

    /** @param {number | null} code @returns {any} */
    function inside(code) {
      if (code === null || (length += 1) > MAX_FORMULA) return nok(code);
      if (opening === DOLLAR && code === DOLLAR) {
        if (isSpace(before)) return nok(code);
        effects.consume(code);
        return behind;
      }
      before = code;
      if (isLineEnding(code)) {
        effects.exit("formula");
        effects.enter("formulaLineEnding");
        effects.consume(code);
        effects.exit("formulaLineEnding");
        effects.enter("formula");
        return inside;
      }
      effects.consume(code);
      return code === BACKSLASH ? afterBackslash : inside;
    }
    /** @param {number | null} code @returns {any} */
    function afterBackslash(code) {
      if (code === null || isLineEnding(code)) return inside(code);
      before = code;
      effects.consume(code);
      if (opening === DOLLAR || code !== closing) return inside;
      effects.exit("formula").isLast = true;
      return ok;
    }
    /** @param {number | null} code @returns {any} */
    function behind(code) {
      if (code === DOLLAR || (code !== null && code >= 48 && code <= 57)) return nok(code);
      effects.exit("formula").isLast = true;
      return ok(code);
    }
    return start;
  };
  const dollars = {
    name: "dollarFormula", tokenize: tokenizer(DOLLAR),
    /** @this {any} @param {number | null} code */
    previous(code) {
      return code !== DOLLAR || this.events.at(-1)?.[1].type === "characterEscape";
    },
  };
  return { text: { [DOLLAR]: dollars, [BACKSLASH]: { name: "bracketFormula", tokenize: tokenizer(BACKSLASH) } } };
}

/** Turns the tokens of a formula into one inlineMath node. */
function formulasFromMarkdown() {
  return {
    enter: {
      /** @this {Compiler} @param {Token} token */
      formula(token) {
        const siblings = this.stack.at(-1).children;
        if (siblings.at(-1)?.open) return;
        const position = { start: pointOf(token.start), end: pointOf(token.end) };
        siblings.push({ type: "inlineMath", open: true, value: "", position });
      },
    },
    exit: {
      /** @this {Compiler} @param {Token & { isLast?: boolean }} token */
      formula(token) {
        const node = this.stack.at(-1).children.at(-1);
        node.value += this.sliceSerialize(token);
        node.position.end = pointOf(token.end);
        node.open = !token.isLast;
        const fence = node.value.startsWith("$") ? 1 : 2;
        if (token.isLast) node.value = node.value.slice(fence, -fence);
      },
      /** @this {Compiler} */
      formulaLineEnding() {
        this.stack.at(-1).children.at(-1).value += "\n";
      },
    },
  };
}

/** @param {string} raw @returns {Parsed} */
export function parse(raw) {
  /** @type {Leaf[]} */
  const leaves = [];
  const shift = raw.charCodeAt(0) === 0xfeff ? 1 : 0;
  const extensions = [
    gfmTable(), gfmStrikethrough({ singleTilde: false }), gfmTaskListItem(), math({ singleDollarTextMath: false }), formulas(),
  ];
  const mdastExtensions = [
    gfmTableFromMarkdown(), gfmStrikethroughFromMarkdown(), gfmTaskListItemFromMarkdown(), mathFromMarkdown(),
    formulasFromMarkdown(), collectLeaves(leaves),
  ];
  const tree = fromMarkdown(raw.slice(shift), { extensions, mdastExtensions });
  leaves.sort((a, b) => a.start - b.start || a.end - b.end);
  return { tree, leaves, shift };
}
