// A real OpenAI-compatible server, Portkey's gateway, behind a proxy that cuts its answers at any byte: headers, chunk
// sizes, and events. The scripted upstream answers behind it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { ServerEvent } from '../support/event-reader.ts';
import { reset } from '../support/reset.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { lastChargeBecomes } from '../support/spending.ts';
import { surfaces } from '../support/surfaces.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

/** Returns the port of the gateway, which ends with the test. */
async function startGateway(t: Test): Promise<number> {
  const child = fork(fileURLToPath(new URL('portkey.mjs', import.meta.url)), {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return port;
}

/** A proxy that resets each connection after so many bytes of its answer. */
async function cuttingProxy(t: Test, targetPort: number) {
  const state = { bytes: Number.POSITIVE_INFINITY };
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    let left = state.bytes;
    client.pipe(target);
    target.on('data', (chunk) => {
      const passed = chunk.subarray(0, left);
      left -= passed.length;
      if (passed.length === chunk.length) return void client.write(passed);
      target.destroy();
      client.write(passed, () => reset(client));
    });
    target.on('end', () => client.end());
    target.on('error', () => client.destroy());
    client.on('error', () => target.destroy());
    client.on('close', () => target.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { state, port: (server.address() as AddressInfo).port };
}

/** A prime number, so that over all requests the cuts fall on every kind of place. */
const STEP = Number(process.env.CUT_STEP ?? 13);
const KEY = 'none';

t.test('answers of a real server, cut at any byte', { timeout: 0 }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const gateway = await startGateway(t);
  const proxy = await cuttingProxy(t, gateway);
  const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstream.url };
  /** A new header makes a new upstream, without the connections and failures of the old one. */
  const fileOf = (cut: number) => ({
    upstreams: [
      { name: 'cut', port: proxy.port },
      { name: 'whole', port: gateway },
    ].map(({ name, port }) => ({
      ...{ name, kind: 'openai', url: `http://127.0.0.1:${port}/v1`, keyVariable: 'GATEWAY_KEY' },
      headers: { ...headers, ...(name === 'cut' && { 'x-cut': String(cut) }) },
    })),
    models: [
      {
        name: 'public',
        targets: [
          { upstream: 'cut', model: 'test-model' },
          { upstream: 'whole', model: 'test-model', order: 2 },
        ],
      },
    ],
  });
  const file = upstreamsFile(fileOf(-1));
  onEachDatabase(t, { ...file.env, GATEWAY_KEY: KEY, ...plansFile(t) }, async (t, service) => {
    const { client } = service;
    for (const surface of surfaces)
      for (const stream of [false, true]) {
        const owner = await client.signUp();
        const { key } = await client.createKey(owner);
        const outcomes = { whole: 0, elsewhere: 0, brokenOff: 0 };
        // Until a whole answer has passed.
        for (let cut = 0; outcomes.whole === 0; cut += STEP) {
          proxy.state.bytes = cut;
          file.write(fileOf(cut));
          service.reload();
          const what = `${surface.path}${stream ? ', streamed' : ''}, cut after ${cut} bytes`;
          const answer = await client.post(surface.path, surface.body('How are you?', { stream }), { key });
          t.equal(answer.status, 200, what);
          await lastChargeBecomes(service, owner.accountId, { state: 'final', units: 1 });
          const events: ServerEvent[] = stream ? answer.body : [];
          const text = stream ? surface.streamedText(events) : surface.textOf(answer.body);
          const isBroken = events.some((event) => surface.errorCodeOf(event) !== undefined);
          const attempts = answer.headers.get('x-parley-attempts');
          if (isBroken) {
            outcomes.brokenOff += 1;
            t.equal(attempts, '1', `${what}: after the first output nothing is tried again`);
            t.ok(text.length > 0 && 'You said: How are you?'.startsWith(text), `${what}: ${text}`);
            continue;
          }
          t.equal(text, 'You said: How are you?', what);
          if (attempts === '1') outcomes.whole += 1;
          else outcomes.elsewhere += 1;
        }
        t.comment(`${surface.path} ${stream}: ${JSON.stringify(outcomes)}`);
        t.ok(outcomes.elsewhere > 0, 'the other target answers while there is no output');
        t.equal(outcomes.brokenOff > 0, stream, 'only streams break off');
        t.equal((await client.get('/usage', { key })).body.used.chat, Object.values(outcomes).reduce((a, b) => a + b));
      }
  });
});
