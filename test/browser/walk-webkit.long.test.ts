// The main walk and the documentation in WebKit, the engine of Safari.
import t from 'tap';
import { walkThrough } from '../support/dashboard-journey.ts';
import { noDashboard } from '../support/dashboard-pages.ts';
import { walkThroughDocs } from '../support/docs-journey.ts';
import { noWebKit } from '../support/webkit/programs.ts';

t.setTimeout(1_800_000);

for (const variant of [
  { size: 'wide', scheme: 'light' },
  { size: 'narrow', scheme: 'dark' },
] as const) {
  const skip = noDashboard || noWebKit;
  t.test(`the main walk, ${variant.size}, ${variant.scheme}`, { skip }, (t) =>
    walkThrough(t, variant, 'webkit'),
  );
  t.test(`the documentation, ${variant.size}, ${variant.scheme}`, { skip }, (t) =>
    walkThroughDocs(t, variant, 'webkit'),
  );
}
