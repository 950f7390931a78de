/** Images over several upstreams. Contract section 15. */
import type { ImageEngine, ImageInput } from '../types.ts';
import type { Router } from './router.ts';

/** @param other - the engine to use while the operator's file has no models for images */
export function routedImages(router: Router, other: ImageEngine): ImageEngine {
  const capable = ({ model, n }: Pick<ImageInput, 'model' | 'n'>) =>
    router.capable(model, ({ model: name, upstream }) =>
      upstream.images?.check?.({ model: name, ...(n !== undefined && { n }) }),
    );
  return {
    get kind() {
      return router.serves('images') ? 'upstream' : other.kind;
    },
    check(input) {
      if (router.serves('images')) capable(input);
      else other.check?.(input);
    },
    async generate(input, signal, call) {
      if (!router.serves('images')) return other.generate(input, signal);
      const targets = capable(input).filter(({ upstream }) => upstream.images);
      const images = await router.whole({ targets, call }, signal, async ({ model, upstream }, gone) =>
        upstream.images?.generate({ ...input, model }, gone),
      );
      if (images === undefined) throw new Error('The target generates no images.');
      return images;
    },
  };
}
