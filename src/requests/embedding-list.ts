import { loopShare } from '../concurrency/loop-share.ts';
import type { Embedded } from '../engines/types.ts';

const CHARACTERS_PER_MICROSECOND = 1000;

/** Writes an `EmbeddingList` in slices, because serializing millions of numbers at once would block the event loop. */
export async function embeddingListJson({ model, promptTokens, vectors }: Embedded): Promise<Buffer> {
  const head = (index: number) =>
    `${index === 0 ? '{"object":"list","data":[' : ','}{"object":"embedding","index":${index},"embedding":`;
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  const tail = Buffer.from(`],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`);
  const length = vectors.reduce(
    (sum, vector, index) => sum + head(index).length + vector.length + 1,
    tail.length,
  );
  const json = Buffer.allocUnsafeSlow(length);
  let position = 0;
  for (const [index, vector] of vectors.entries()) {
    await loopShare.take(vector.length / CHARACTERS_PER_MICROSECOND);
    position += json.write(`${head(index)}${vector}}`, position, 'latin1');
  }
  tail.copy(json, position);
  return json;
}
