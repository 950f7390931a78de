// The dashboard shows operators a translated name for each background job, not its identifier.
import t from 'tap';
import { jobNames } from '../../src/jobs/maintenance.ts';

for (const language of ['en', 'de']) {
  t.test(`every background job has a display name: ${language}`, async (t) => {
    // A computed path, because the dashboard is compiled with DOM types, and tests are not.
    const file = new URL(`../../src/dashboard/texts/${language}.ts`, import.meta.url).href;
    const { default: texts } = await import(file);
    t.same(Object.keys(texts.operator.jobs.names).sort(), [...jobNames].sort());
  });
}
