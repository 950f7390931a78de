/** Removes Markdown marks, to show or read out a single line. Not a parser: unclear marks stay. Takes linear time. */

const fences = /^[ \t]*(?:`{3,}|~{3,}).*\n?/gm;
/** Lines below a table's head, and between sections. */
const rules = /^[ \t:|=-]+$/gm;
const rows = /^[ \t]*\|.*$/gm;
const lineMarks = /^(?:[ \t]*(?:#{1,6}|>|[-*+])[ \t]+)+/gm;
const links = /!?\[([^\]\n]{0,300})\]\([^)\n]{0,2000}\)/g;
/** Inline code, which is kept, or marks. An asterisk between spaces or within a word is not a mark. */
const inline = /(`+)([^`\n]{1,300})\1|`+|\*\*|~~|\$\$|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)/g;

export const plainText = (markdown: string): string =>
  markdown
    .replace(fences, '')
    .replace(rules, '')
    .replace(rows, (row) => row.replaceAll('|', ' ').trim())
    .replace(lineMarks, '')
    .replace(links, '$1')
    .replace(inline, '$2');
