/** Markdown without its marks, to be read in a line or aloud. Not a parser: what is unclear stays. Takes linear time. */

const fences = /^[ \t]*(?:`{3,}|~{3,}).*\n?/gm;
/** Below the head of a table, and between sections. */
const rules = /^[ \t:|=-]+$/gm;
const rows = /^[ \t]*\|.*$/gm;
const lineMarks = /^(?:[ \t]*(?:#{1,6}|>|[-*+])[ \t]+)+/gm;
const links = /!?\[([^\]\n]{0,300})\]\([^)\n]{0,2000}\)/g;
/** Code in a line, which is kept, or marks. An asterisk between spaces or within a word is none. */
const inline = /(`+)([^`\n]{1,300})\1|`+|\*\*|~~|\$\$|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)/g;

export const plainText = (markdown: string): string =>
  markdown
    .replace(fences, '')
    .replace(rules, '')
    .replace(rows, (row) => row.replaceAll('|', ' ').trim())
    .replace(lineMarks, '')
    .replace(links, '$1')
    .replace(inline, '$2');
