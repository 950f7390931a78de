// The main walk in Firefox.
import t from 'tap';
import { walkThrough } from '../support/dashboard-journey.ts';
import { noDashboard } from '../support/dashboard-pages.ts';
import { noFirefox } from '../support/firefox.ts';

t.setTimeout(1_800_000);

for (const variant of [
  { size: 'wide', scheme: 'light' },
  { size: 'narrow', scheme: 'dark' },
] as const)
  t.test(`the main walk, ${variant.size}, ${variant.scheme}`, { skip: noDashboard || noFirefox }, (t) =>
    walkThrough(t, variant, 'firefox'),
  );
