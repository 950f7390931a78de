import { decode } from 'fast-png';
import t from 'tap';
import { imageSizes } from '../../schemas/images.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const pictureOf = ({ b64_json }: { b64_json: string }) => decode(Buffer.from(b64_json, 'base64'));

t.test('the built-in engine', async (t) => {
  onEachDatabase(t, plansFile(t, { images: 40 }), async (t, service) => {
    const { client } = service;
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    const used = async () => (await client.get('/usage', { key })).body.used.images;
    const draw = (body: unknown) => client.post('/images/generations', body, { key });

    await t.test('POST /images/generations 200: returns n different images and charges n', async (t) => {
      const answer = await draw({ prompt: 'A lighthouse', n: 4 });
      t.equal(answer.status, 200);
      t.equal(answer.body.data.length, 4);
      t.equal(new Set(answer.body.data.map(({ b64_json }: { b64_json: string }) => b64_json)).size, 4);
      t.match(pictureOf(answer.body.data[0]), { width: 1024, height: 1024 });
      t.equal(await used(), 4);
      t.match(await lastCharge(service, owner.accountId), { units: 4, model: 'parley-builtin', status: 200 });
      t.equal(answer.headers.get('ratelimit-remaining'), '36');
    });

    await t.test(
      'POST /images/generations 200: the same prompt gives the same image, and another prompt a different one',
      async (t) => {
        const first = await draw({ prompt: 'A boat', size: '256x256' });
        t.same((await draw({ prompt: 'A boat', size: '256x256' })).body.data, first.body.data);
        t.notSame((await draw({ prompt: 'A goat', size: '256x256' })).body.data, first.body.data);
      },
    );

    await t.test('POST /images/generations 200: accepts every size', async (t) => {
      for (const size of imageSizes) {
        const { width, height } = pictureOf((await draw({ prompt: 'x', size })).body.data[0]);
        t.equal(`${width}x${height}`, size === 'auto' ? '1024x1024' : size);
      }
    });

    await t.test("POST /images/generations 200: accepts OpenAI's fields, and null for most", async (t) => {
      const fields = {
        response_format: 'b64_json',
        quality: 'hd',
        style: 'vivid',
        user: 'me',
        model: 'dall-e-3',
      };
      const nulls = { n: null, size: null, background: null, output_format: null, moderation: null };
      t.equal((await draw({ prompt: 'x', ...fields, ...nulls })).status, 200);
    });

    await t.test(
      'POST /images/generations 400: unsupported values are not charged, and the error names the field',
      async (t) => {
        const before = await used();
        const wrong: [Record<string, unknown>, string, RegExp][] = [
          [{ response_format: 'url' }, 'response_format', /b64_json/],
          [{ output_format: 'webp' }, 'output_format', /png/],
          [{ n: 5 }, 'n', /4/],
          [{ n: 0 }, 'n', /1/],
          [{ size: '1x1' }, 'size', /1024x1024/],
          [{ prompt: '' }, 'prompt', /1/],
          [{ prompt: 'x'.repeat(32_001) }, 'prompt', /32000/],
          [{ surprise: 1 }, 'surprise', /known/],
        ];
        for (const [fields, param, message] of wrong) {
          const answer = await draw({ prompt: 'x', ...fields });
          t.match(
            answer,
            { status: 400, body: { error: { code: 'invalidRequest', param, message } } },
            param,
          );
        }
        t.equal(await used(), before);
      },
    );

    await t.test('POST /images/generations 429: charges all of n or nothing', async (t) => {
      let left = 40 - (await used());
      for (; left > 3; left -= 1) await draw({ prompt: 'x', size: '256x256' });
      t.match(await draw({ prompt: 'x', n: 4 }), {
        status: 429,
        body: { error: { code: 'quotaExceeded', limit: { name: 'images', ceiling: 40 } } },
      });
      t.equal((await draw({ prompt: 'x', n: 3, size: '256x256' })).status, 200);
    });
  });
});

t.test("an upstream receives the operator's model, and every image is charged", async (t) => {
  onEachDatabase(
    t,
    { IMAGES_URL: upstream.url, IMAGES_MODEL: 'painter', CHAT_URL: upstream.url },
    async (t, service) => {
      const { client } = service;
      const owner = await client.signUp();
      const { key } = await client.createKey(owner);
      await upstream.reset();
      const answer = await client.post(
        '/images/generations',
        { prompt: 'A boat', n: 2, model: 'dall-e-3', quality: 'hd', user: null },
        { key },
      );
      t.match(answer.body.data, [{ revised_prompt: 'A picture: A boat' }, {}]);
      t.same((await upstream.onlyCall()).body, {
        prompt: 'A boat',
        n: 2,
        model: 'painter',
        quality: 'hd',
        response_format: 'b64_json',
      });
      t.match(await lastCharge(service, owner.accountId), { units: 2, model: 'painter' });
      t.match((await client.get('/service')).body.engine, { images: 'upstream', search: 'builtin' });
    },
  );
});
