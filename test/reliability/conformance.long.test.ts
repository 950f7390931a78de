// Reliability test 47. `make fuzz` runs it for ten minutes. SEED=… repeats the same requests.
import fc from 'fast-check';
import t from 'tap';
import { Conformance } from '../support/conformance.ts';
import type { OpenApi } from '../support/http.ts';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { type DatabaseKind, plansFile, startTestService } from '../support/service.ts';

/** How long each database is tested. Postgres gets more time. */
const seconds: Record<DatabaseKind, number> = { postgres: 60, embedded: 20 };
const factor = Number(process.env.FUZZ_SECONDS ?? 80) / 80;
/** The number of concurrent callers. */
const AT_ONCE = 8;
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

for (const [kind, share] of Object.entries(seconds) as [DatabaseKind, number][]) {
  t.test(`47: every operation conforms to openapi.json, ${kind}`, { timeout: 0 }, async (t) => {
    const service = await startTestService(t, kind, {
      ...plansFile(t),
      ...operatorEnv,
      TRUST_PROXY: 'loopback',
    });
    const { app, client } = service;
    const document = app.swagger() as unknown as OpenApi;
    const run = new Conformance(client.origin, document, AT_ONCE, () => signInOperator(service));
    await run.succeed(seed);
    const outcome = await fc.check(
      fc.asyncProperty(run.inputs(), (inputs) => run.check(inputs)),
      {
        seed,
        numRuns: 10_000_000,
        interruptAfterTimeLimit: share * factor * 1000,
        // No shrinking: an account in another state would not fail the same way.
        endOnFailure: true,
      },
    );
    const heading = `${kind}: ${run.requests} requests, SEED=${seed}`;
    console.error([heading, ...run.lines(), ''].join('\n'));
    const { cause, message } = (outcome.errorInstance ?? {}) as Error;
    t.notOk(
      outcome.failed,
      outcome.failed ? `SEED=${seed}: ${message}: ${cause}` : 'every response conforms',
    );
    // Cancel operations need a request in flight: see test/routes/chat-cancel.test.ts.
    const report = [...run.report].filter(([operationId]) => !operationId.startsWith('cancel'));
    for (const [operationId, statuses] of report)
      t.ok(
        [...statuses.keys()].some((status) => status < 300),
        `${operationId} succeeded`,
      );
  });
}
