// Upstreams behind packages of the AI SDK, on every surface: one charge per request, and no details of the upstream leak.
import t from 'tap';
import { audit } from '../../src/store/ledger-audit.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { lastCharge, lastChargeBecomes } from '../support/spending.ts';
import { surfaces } from '../support/surfaces.ts';
import { CANARY, startUpstream } from '../support/upstream/client.ts';
import { KEY } from '../support/upstream/engine.ts';
import { providerServer, usage, vendorNames, vendors } from '../support/upstream/providers.ts';
import { fileWithPackages } from '../support/upstreams-file.ts';

t.test(
  'every AI SDK vendor is charged once per request and reveals no upstream details on every surface',
  async (t) => {
    const servers = await Promise.all(vendorNames.map(async (name) => providerServer(t, name)));
    const other = await startUpstream();
    t.teardown(() => other.stop());
    const env = fileWithPackages({
      upstreams: [
        ...vendorNames.map((name, index) => ({
          ...{ name, kind: 'ai-sdk', package: vendors[name].package, url: servers[index]?.url },
          ...{ keyVariable: 'SDK_KEY', timeouts: { idleMs: 30_000 } },
        })),
        { name: 'other', kind: 'openai', url: other.url },
      ],
      models: vendorNames.flatMap((name) => {
        const target = { upstream: name, model: 'their-model', prices: { input: 1, output: 2 } };
        return [
          { name, targets: [target] },
          {
            name: `${name}-or-other`,
            targets: [target, { upstream: 'other', model: 'test-model', order: 2 }],
          },
        ];
      }),
    });
    onEachDatabase(t, { ...env, SDK_KEY: KEY, ...plansFile(t) }, async (t, service) => {
      const { client, database } = service;
      for (const [index, vendor] of vendorNames.entries()) {
        const server = servers[index] as (typeof servers)[number];
        const owner = await client.signUp();
        const { key } = await client.createKey(owner);
        const secrets = [CANARY, KEY, 'their-model', '127.0.0.1', 'ai-sdk'];
        let charged = 0;
        for (const surface of surfaces)
          for (const stream of [false, true]) {
            const what = `${vendor} ${surface.path} ${stream}`;
            const ask = (model: string) =>
              client.post(surface.path, { ...surface.body('Hi', { stream }), model }, { key });
            server.set({ texts: ['Hello ', 'there.'] });
            const answer = await ask(vendor);
            t.equal(answer.status, 200, what);
            t.equal(
              stream ? surface.streamedText(answer.body) : surface.textOf(answer.body),
              'Hello there.',
              what,
            );
            if (stream) t.ok(answer.body.some(surface.isEnd), what);
            t.equal(server.state.calls.length, 1, what);
            const charge = { state: 'final', units: 1, model: vendor };
            const tokens = { input_tokens: usage.input, output_tokens: usage.output };
            await lastChargeBecomes(service, owner.accountId, { ...charge, ...tokens });

            server.set({ status: 500 });
            const elsewhere = await ask(`${vendor}-or-other`);
            t.equal(elsewhere.status, 200, what);
            t.equal(elsewhere.headers.get('x-parley-attempts'), '2', what);
            charged += 2;

            server.set({ status: 400 });
            const refused = await ask(vendor);
            t.equal(refused.status, 400, what);
            t.match(await lastCharge(service, owner.accountId), { state: 'refunded' }, what);
            for (const { text } of [answer, elsewhere, refused])
              for (const secret of secrets) t.notOk(text.includes(secret), `${what}: no ${secret}`);
          }
        const [surface] = surfaces;
        server.set({ fault: 'cut' });
        const body = { ...surface?.body('Hi', { stream: true }), model: vendor };
        const cut = await client.post(surface?.path ?? '', body, { key });
        t.equal(cut.status, 200);
        t.equal(surface?.failureOf(cut.body), 'upstreamError', 'a stream that is cut off ends with an error');
        await lastChargeBecomes(service, owner.accountId, { state: 'final', code: 'upstreamError' });
        server.set({ status: 429, headers: { 'retry-after': '90' } });
        for (let turn = 0; turn < 2; turn += 1) {
          const busy = await client.post(surface?.path ?? '', { ...body, stream: false }, { key });
          t.match(busy, { status: 503, body: { error: { code: 'overloaded' } } }, `${vendor} ${turn}`);
        }
        t.equal(server.state.calls.length, 1, 'the target pauses for Retry-After');
        t.match((await client.get('/usage', { cookie: owner.cookie })).body, { used: { chat: charged + 1 } });
      }
      t.same((await audit(database.db)).differences, []);
    });
  },
);
