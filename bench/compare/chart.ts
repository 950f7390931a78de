/** Builds `bench/results.svg`: CPU per request, as bars. */
import { middle, type RowOutcome } from './results.ts';

const LEFT = 240;
const WIDTH = 900;
const LINE = 22;
const BAR = WIDTH - LEFT - 130;

const escaped = (text: string) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const colorOf = (name: string) =>
  name === 'postgres' ? '#0b7285' : name === 'embedded' ? '#3bc9db' : '#adb5bd';

/** The bars of a row share a scale. Rows have separate scales, because they differ by a factor of a hundred. */
export function chart(results: RowOutcome[]): string {
  let y = 16;
  const marks: string[] = [];
  for (const { outcomes, row } of results) {
    const values = outcomes.map((outcome) => middle(outcome, 'cpu').median);
    const longest = Math.max(...values);
    y += LINE;
    marks.push(`<text x="16" y="${y}" font-weight="bold">${escaped(row.title.replaceAll('`', ''))}</text>`);
    for (const [index, { name, title }] of outcomes.entries()) {
      const value = values[index] ?? 0;
      const width = Math.max(1, (BAR * value) / longest);
      y += LINE;
      marks.push(
        `<text x="${LEFT - 8}" y="${y}" text-anchor="end">${escaped(title)}</text>`,
        `<rect x="${LEFT}" y="${y - 13}" width="${width.toFixed(1)}" height="16" rx="2" fill="${colorOf(name)}"/>`,
        `<text x="${(LEFT + width + 6).toFixed(1)}" y="${y}">${Math.round(value).toLocaleString('en')} µs</text>`,
      );
    }
    y += LINE / 2;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y + 16}" font-family="sans-serif" font-size="13">
<title>CPU per request</title>
<rect width="100%" height="100%" fill="#fff"/>
${marks.join('\n')}
</svg>
`;
}
