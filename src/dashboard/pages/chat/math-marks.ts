/** Unifies the marks of formulas: models use several, but Markdown knows only `$$`. */

/** Matches the start of code or a formula, and escaped characters, which start nothing. */
const marks = /`+|~{3,}|\$\$|\\[[(]|\\[\s\S]|\$/g;
const closings: Record<string, string> = { '\\[': '\\]', '\\(': '\\)' };

/** Length in characters. */
const MAX_FORMULA_LENGTH = 2000;

/** Characters that prices and variable names do not contain. */
const isLikely = /[\\^_{}=<>+]|^[a-zA-Z]$/;

/** Pandoc's rule for single dollar signs: no spaces inside, no word before, and no digit after. */
const isInDollars = (text: string, start: number, end: number): boolean =>
  !/[\w$]/.test(text.charAt(start - 2)) &&
  /^\S(.*\S)?$/.test(text.slice(start, end)) &&
  !/[\d$]/.test(text.charAt(end + 1)) &&
  isLikely.test(text.slice(start, end));

/** The indentation of a formula that is alone on its lines. Undefined for others. Four spaces would make it code. */
const indentAlone = (text: string, start: number, after: number): string | undefined =>
  /^[ \t\r]{0,3}(?:\n|$)/.test(text.slice(after, after + 4))
    ? /(?:^|\n)( {0,3})$/.exec(text.slice(Math.max(0, start - 4), start))?.[1]
    : undefined;

/** Marks every formula with `$$`, on separate lines if it is a block. Takes linear time. */
export function withMathMarks(text: string): string {
  const parts: string[] = [];
  /** The next position of each closing mark. */
  const next = new Map<string, number>();
  let written = 0;
  marks.lastIndex = 0;
  for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
    const [mark] = found;
    if (mark.startsWith('\\') && !(mark in closings)) continue;
    const start = marks.lastIndex;
    const closing = closings[mark] ?? mark;
    let end = next.get(closing) ?? 0;
    if (end < start && end !== -1) {
      end = text.indexOf(closing, start);
      next.set(closing, end);
    }
    if (end === -1) continue;
    const after = end + closing.length;
    if (/^[`~]/.test(mark)) {
      marks.lastIndex = after;
      continue;
    }
    const indent = mark === '$' || mark === '\\(' ? undefined : indentAlone(text, found.index, after);
    const formula = end - start > MAX_FORMULA_LENGTH ? '' : text.slice(start, end).trim();
    const isOnLines = text.slice(start, Math.min(end, start + MAX_FORMULA_LENGTH)).includes('\n');
    if (mark === '$$' && (formula === '' || isOnLines || indent === undefined)) {
      marks.lastIndex = after;
      continue;
    }
    const isFormula =
      formula !== '' &&
      (mark === '$'
        ? !isOnLines && isInDollars(text, start, end)
        : mark === '\\['
          ? text[after] !== '('
          : !isOnLines);
    if (!isFormula) continue;
    const around = isOnLines ? '\n' : indent === undefined ? '' : `\n${indent}`;
    parts.push(text.slice(written, found.index), '$$', around, formula, around, '$$');
    written = marks.lastIndex = after;
  }
  return written === 0 ? text : parts.join('') + text.slice(written);
}
