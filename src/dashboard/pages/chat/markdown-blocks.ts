/** Splits a reply at its top-level blocks, so that a growing reply parses only its last one again. */

/** Definitions, footnotes, and HTML that may contain blank lines concern the whole text. */
const unsplittable = /^ {0,3}(\[[^\]\n]+\]:|<(?:script|pre|style|textarea|!|\?))/im;

const fence = /^(\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*)(`{3,}(?=[^`]*$)|~{3,})/;
const listItem = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;
/** Continues the block above, or may: a list's next item, and whatever is indented. */
const continuation = /^(?:\s|[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$))/;

/**
 * Each block ends with its blank lines, so that joining them gives the text. Lines are kept together if there is any
 * doubt: a block parses like the text that it is part of.
 */
export function blocksOf(text: string): string[] {
  if (unsplittable.test(text)) return [text];
  const blocks: string[] = [];
  let start = 0;
  let isAfterBlank = false;
  let isInList = false;
  let open: { marks: string; indent: number } | undefined;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, end).trimEnd();
    if (open === undefined) {
      if (isAfterBlank && line !== '' && !continuation.test(line)) {
        blocks.push(text.slice(start, at));
        start = at;
        isInList = false;
      }
      isInList ||= listItem.test(line);
      const [, before = '', marks] = fence.exec(line) ?? [];
      // Outside of a list, four spaces begin code that needs no fence.
      if (marks !== undefined && (before.length < 4 || isInList)) {
        open = { marks, indent: before.length };
        isInList &&= before !== '';
      }
      isAfterBlank = line === '';
    } else if (closes(line, open)) {
      open = undefined;
      isAfterBlank = false;
    }
    at = end;
  }
  if (start < text.length) blocks.push(text.slice(start));
  return blocks;
}

function closes(line: string, { indent, marks }: { marks: string; indent: number }): boolean {
  const closing = line.trimStart();
  return (
    line.length - closing.length <= indent + 3 &&
    closing.length >= marks.length &&
    closing === closing.charAt(0).repeat(closing.length) &&
    closing.charAt(0) === marks.charAt(0)
  );
}
