// The main walk and the documentation in Firefox.
import t from 'tap';
import { walkThrough } from '../support/dashboard-journey.ts';
import { noDashboard } from '../support/dashboard-pages.ts';
import { walkThroughDocs } from '../support/docs-journey.ts';
import { noFirefox } from '../support/firefox.ts';

t.setTimeout(1_800_000);

for (const variant of [
  { size: 'wide', scheme: 'light' },
  { size: 'narrow', scheme: 'dark' },
] as const) {
  const skip = noDashboard || noFirefox;
  t.test(`the main walk, ${variant.size}, ${variant.scheme}`, { skip }, (t) =>
    walkThrough(t, variant, 'firefox'),
  );
  t.test(`the documentation, ${variant.size}, ${variant.scheme}`, { skip }, (t) =>
    walkThroughDocs(t, variant, 'firefox'),
  );
}
