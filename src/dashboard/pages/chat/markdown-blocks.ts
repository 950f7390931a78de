/** Splits a reply into its top-level blocks, so that a growing reply parses only its last block again. */

/** Footnote numbers depend on the whole text, and a definition can follow its use. */
const definition = /^ {0,3}\[[^\]\n]+\]:/;
/** Kinds of HTML that may contain blank lines, with their start and end conditions: CommonMark 4.6. */
const html: readonly { begins: RegExp; ends: RegExp }[] = [
  { begins: /^ {0,3}<(?:script|pre|style|textarea)(?:[\s>]|$)/i, ends: /<\/(?:script|pre|style|textarea)>/i },
  { begins: /^ {0,3}<!--/, ends: /-->/ },
  { begins: /^ {0,3}<\?/, ends: /\?>/ },
  { begins: /^ {0,3}<!\[CDATA\[/, ends: /\]\]>/ },
  { begins: /^ {0,3}<![a-z]/i, ends: />/ },
];

const fence = /^(\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*)(`{3,}(?=[^`]*$)|~{3,})/;
const listItem = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;
/** A line that continues or may continue the block above: the next item of a list, or an indented line. */
const continuation = /^(?:\s|[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$))/;

/** Whether a line ends the open code or HTML, which may contain blank lines. */
type IsEnd = (line: string) => boolean;

/**
 * Splits a text into blocks. Each block includes its trailing blank lines, so that joining the blocks gives the text.
 * In doubt, lines remain together, so that a block parses as it does within the whole text.
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
      // Outside a list, four spaces begin code without a fence.
      if (marks !== undefined && (before.length < 4 || isInList)) {
        ends = fenceEnd(marks, before.length);
        isInList &&= before !== '';
      } else {
        ends = htmlEnd(line);
        // The end of the list would also end the HTML.
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
