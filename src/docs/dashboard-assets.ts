/** What the documentation shares with the dashboard: its typeface and its colors. */
import { readdirSync, readFileSync } from 'node:fs';
import { sharedColors } from '../dashboard/colors.ts';
import { builtDashboard, isDashboardBuilt } from './built-dashboard.ts';

/** The rules with which the built dashboard loads its font. Without it, pages use the system's font. */
function fontFaces(): string {
  if (!isDashboardBuilt) return '';
  const assets = new URL('assets/', builtDashboard);
  const rules = readdirSync(assets)
    .filter((name) => name.endsWith('.css'))
    .flatMap(
      (name) => readFileSync(new URL(name, assets), 'utf8').match(/@font-face\s*\{[^}]*Inter[^}]*\}/g) ?? [],
    );
  return [...new Set(rules)].join('\n');
}

const cssName = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const variables = Object.entries(sharedColors)
  .map(([name, { dark, light }]) => `${cssName(name)}: light-dark(${light}, ${dark});`)
  .join('\n  ');

/** CSS that declares the font and a variable for each color. */
export const sharedStyles = `${fontFaces()}\n:root {\n  ${variables}\n}\n`;
