/** Splits a reply at its top-level blocks, so that a growing reply parses only its last one again. */

/** Footnotes are numbered in the whole text, and a definition can be used before it. */
const definition = /^ {0,3}\[[^\]\n]+\]:/;
/** HTML that may contain blank lines, by what begins and what ends it: CommonMark 4.6. */
const html: readonly { begins: RegExp; ends: RegExp }[] = [
  { begins: /^ {0,3}<(?:script|pre|style|textarea)(?:[\s>]|$)/i, ends: /<\/(?:script|pre|style|textarea)>/i },
  { begins: /^ {0,3}<!--/, ends: /-->/ },
  { begins: /^ {0,3}<\?/, ends: /\?>/ },
  { begins: /^ {0,3}<!\[CDATA\[/, ends: /\]\]>/ },
  { begins: /^ {0,3}<![a-z]/i, ends: />/ },
];

const fence = /^(\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*)(`{3,}(?=[^`]*$)|~{3,})/;
const listItem = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;
/** Continues the block above, or may: a list's next item, and whatever is indented. */
const continuation = /^(?:\s|[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$))/;

/** Whether a line ends the code or HTML that is open, which may contain blank lines. */
type IsEnd = (line: string) => boolean;

/**
 * Each block ends with its blank lines, so that joining them gives the text. Lines are kept together if there is any
 * doubt: a block parses like the text that it is part of.
 */
export function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  let start = 0;
  let isAfterBlank = false;
  let isInList = false;
  let ends: IsEnd | undefined;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, end).trimEnd();
    if (ends === undefined) {
      if (definition.test(line)) return [text];
      if (isAfterBlank && line !== '' && !continuation.test(line)) {
        blocks.push(text.slice(start, at));
        start = at;
        isInList = false;
      }
      isInList ||= listItem.test(line);
      const [, before = '', marks] = fence.exec(line) ?? [];
      // Outside of a list, four spaces begin code that needs no fence.
      if (marks !== undefined && (before.length < 4 || isInList)) {
        ends = fenceEnd(marks, before.length);
        isInList &&= before !== '';
      } else {
        ends = htmlEnd(line);
        // It also ends with its list.
        if (ends !== undefined && isInList) return [text];
      }
      isAfterBlank = line === '';
    } else if (ends(line)) {
      ends = undefined;
      isAfterBlank = false;
    }
    at = end;
  }
  if (start < text.length) blocks.push(text.slice(start));
  return blocks;
}

const fenceEnd =
  (marks: string, indent: number): IsEnd =>
  (line) => {
    const closing = line.trimStart();
    return (
      line.length - closing.length <= indent + 3 &&
      closing.length >= marks.length &&
      closing === closing.charAt(0).repeat(closing.length) &&
      closing.charAt(0) === marks.charAt(0)
    );
  };

/** Undefined if the line begins no HTML, or also ends it. */
function htmlEnd(line: string): IsEnd | undefined {
  const kind = html.find(({ begins }) => begins.test(line));
  return kind === undefined || kind.ends.test(line) ? undefined : (later) => kind.ends.test(later);
}
