// The main walk in the variants that walk.test.ts does not run, and the documentation in all variants.
import t from 'tap';
import { walkThrough } from '../support/dashboard-journey.ts';
import { noDashboard } from '../support/dashboard-pages.ts';
import { variants } from '../support/dashboard-walk.ts';
import { walkThroughDocs } from '../support/docs-journey.ts';

t.setTimeout(1_800_000);

for (const variant of variants.slice(1))
  t.test(
    `every step of the main walk works, ${variant.size}, ${variant.scheme}`,
    { skip: noDashboard },
    (t) => walkThrough(t, variant),
  );

for (const variant of variants)
  t.test(
    `every step through the documentation works, ${variant.size}, ${variant.scheme}`,
    { skip: noDashboard },
    (t) => walkThroughDocs(t, variant),
  );
