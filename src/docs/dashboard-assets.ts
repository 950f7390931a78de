/** Assets that the documentation shares with the dashboard: its icon, typeface, and colors. */
import { readdirSync, readFileSync } from 'node:fs';
import { sharedColors } from '../dashboard/colors.ts';
import { builtDashboard, dashboardIndex, isDashboardBuilt } from './built-dashboard.ts';

/** The font rules of the built dashboard. If it is not built, pages use the system font. */
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

/** HTML for `<head>`. Pages have no icon if the dashboard is not built. */
export const iconLink = /<link rel="icon"[^>]*>/.exec(dashboardIndex ?? '')?.[0] ?? '';

const cssName = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const variablesOf = (theme: 'dark' | 'light'): string =>
  Object.entries(sharedColors)
    .map(([name, colors]) => `${cssName(name)}: ${colors[theme]};`)
    .join(' ');

/**
 * CSS that declares the font and a variable for each color. The API renderer uses these classes, because it has dark
 * parts on light pages. Safari before 17.5 does not support `light-dark()`.
 */
export const sharedStyles = `${fontFaces()}
:root, .light-mode { ${variablesOf('light')} }
@media (prefers-color-scheme: dark) { :root:not([data-theme='light']) { ${variablesOf('dark')} } }
:root[data-theme='dark'], .dark-mode { ${variablesOf('dark')} }
`;
