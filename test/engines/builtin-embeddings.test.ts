import { createHash } from 'node:crypto';
import t from 'tap';
import { builtinEmbeddings } from '../../src/engines/builtin/embeddings.ts';
import type { EmbeddingInput } from '../../src/engines/types.ts';

const engine = builtinEmbeddings();
const signal = new AbortController().signal;
const embed = async (input: EmbeddingInput['input'], dimensions?: number): Promise<number[][]> =>
  (await engine.embed({ input, ...(dimensions && { dimensions }) }, signal)).vectors.map((vector) =>
    JSON.parse(vector),
  );
const likeness = async (one: string, other: string) => {
  const [a = [], b = []] = await embed([one, other]);
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
};

t.test('vectors are identical across processes, machines, and versions', async (t) => {
  t.same(await embed('a quiet sea', 8), [
    [0.9128709435462952, -0.3651483654975891, 0, 0, -0.18257418274879456, 0, 0, 0],
  ]);
  const texts = ['How do I create a key?', 'Ünïcödé ﬁne ①', '中文嵌入', 'มาก', '🙂', ' ', 'x'.repeat(5000)];
  const digest = createHash('sha256')
    .update(JSON.stringify(await embed(texts)))
    .digest('hex');
  t.equal(digest, '0394b5c43b323a74cc475e7c6e3cda0d1a545d8a925f1c35394cf7f1744deecd');
});

t.test('texts with more words in common are closer', async (t) => {
  const question = 'How do I create an API key?';
  const close = await likeness(question, 'Create an API key');
  const far = await likeness(question, 'The weather in Lisbon is sunny today');
  t.ok(close > 0.5 && Math.abs(far) < 0.3, `${close} and ${far}`);
  t.ok((await likeness('dog bites man', 'man bites dog')) < 0.999, 'word order matters');
  t.ok((await likeness('嵌入向量很有用', '嵌入向量')) > 0.5, 'scripts without spaces work, too');
  t.ok((await likeness('ﬁne Ａ', 'FINE a')) > 0.999, 'compatibility characters are normalized');
});

t.test('every text, even one without words, has a unit vector in any dimension', async (t) => {
  for (const text of ['!', ' ', '🙂', 'a', 'the the the', '\u0301'])
    for (const dimensions of [1, 2, 3, 255, 256]) {
      const [vector = []] = await embed(text, dimensions);
      const norm = vector.reduce((sum, value) => sum + value * value, 0);
      if (vector.length !== dimensions || Math.abs(norm - 1) > 1e-6) t.fail(`${text} ${dimensions} ${norm}`);
    }
  const words = Array.from({ length: 300 }, (_, index) => `w${index} v${index}`);
  t.ok(
    (await embed(words, 1)).every(([value]) => Math.abs(value ?? 0) === 1),
    'no vector is zero, even if words cancel each other out',
  );
});

t.test('a text is embedded as a whole, regardless of where its parts end', async (t) => {
  const sentence = 'one two three four five six seven eight nine ten ';
  const long = sentence.repeat(400);
  t.ok((await likeness(long, sentence)) > 0.97);
  const { promptTokens } = await engine.embed({ input: long }, signal);
  t.equal(promptTokens, 4000, 'no word is split');
  t.equal((await engine.embed({ input: `x${'😀a'.repeat(5000)}` }, signal)).promptTokens, 5001);
});

t.test('a client disconnect stops the work', async (t) => {
  const leaving = new AbortController();
  const working = engine.embed({ input: 'word '.repeat(1_000_000) }, leaving.signal);
  setImmediate(() => leaving.abort());
  await t.rejects(working, { name: 'AbortError' });
});
