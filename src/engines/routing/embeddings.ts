/** Embeddings over several upstreams. Contract section 15. */
import type { EmbeddingEngine, EmbeddingInput } from '../types.ts';
import type { Router } from './router.ts';

/** @param other - the engine to use while the operator's file has no models for embeddings */
export function routedEmbeddings(router: Router, other: EmbeddingEngine): EmbeddingEngine {
  const capable = ({ dimensions, model }: Pick<EmbeddingInput, 'model' | 'dimensions'>) =>
    router.capable(model, ({ model: name, upstream }) =>
      upstream.embeddings?.check({ model: name, ...(dimensions !== undefined && { dimensions }) }),
    );
  return {
    get kind() {
      return router.serves('embeddings') ? 'upstream' : other.kind;
    },
    check(input) {
      if (!router.serves('embeddings')) return other.check(input);
      capable(input);
      return input.model;
    },
    async embed(input, signal, call) {
      if (!router.serves('embeddings')) return other.embed(input, signal);
      const targets = capable(input).filter(({ upstream }) => upstream.embeddings);
      const embedded = await router.whole({ targets, call }, signal, async ({ model, upstream }, gone) =>
        upstream.embeddings?.embed({ ...input, model }, gone),
      );
      if (embedded === undefined) throw new Error('The target creates no embeddings.');
      return { ...embedded, model: input.model ?? embedded.model };
    },
  };
}
