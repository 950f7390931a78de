/** What the documentation shares with the dashboard: its icon, its typeface, and its colors. */
import { readdirSync, readFileSync } from 'node:fs';
import { sharedColors } from '../dashboard/colors.ts';
import { builtDashboard, dashboardIndex, isDashboardBuilt } from './built-dashboard.ts';

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

/** For `<head>`. Without the dashboard, pages have no icon. */
export const iconLink = /<link rel="icon"[^>]*>/.exec(dashboardIndex ?? '')?.[0] ?? '';

const cssName = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const variablesOf = (theme: 'dark' | 'light'): string =>
  Object.entries(sharedColors)
    .map(([name, colors]) => `${cssName(name)}: ${colors[theme]};`)
    .join(' ');

/**
 * CSS that declares the font and a variable for each color. The classes are the API renderer's, which has dark parts in
 * light pages. Not with `light-dark()`, which Safari before 17.5 does not know.
 */
export const sharedStyles = `${fontFaces()}
:root, .light-mode { ${variablesOf('light')} }
@media (prefers-color-scheme: dark) { :root:not([data-theme='light']) { ${variablesOf('dark')} } }
:root[data-theme='dark'], .dark-mode { ${variablesOf('dark')} }
`;
