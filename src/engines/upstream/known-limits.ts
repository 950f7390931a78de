/** Rejects requests for more results than a model recently returned, before they are charged. Contract section 7. */
import { ApiError } from '../../errors.ts';

/** How long a model's limit is remembered. */
const REMEMBERED_MS = 10 * 60_000;
/** Limits memory: clients can name any image model unless the operator sets one. */
const MAX_MODELS = 1000;

/** The error for a response with fewer than `n` results. */
export class TooFew extends ApiError {
  readonly got: number;

  constructor(what: 'choices' | 'images', got: number, wanted: number) {
    super('invalidRequest', {
      message: `The model supports fewer ${what} than \`n\`. Request them one at a time.`,
      param: 'n',
      reason: 'unsupported_value',
      isProvokable: true,
      cause: new Error(`The upstream returned ${got} of ${wanted} ${what}.`),
    });
    this.got = got;
  }
}

export class KnownLimits {
  readonly #what: 'choices' | 'images';
  readonly #now: () => number;
  readonly #most = new Map<string, { got: number; until: number }>();

  constructor(what: 'choices' | 'images', now: () => number = () => performance.now()) {
    this.#what = what;
    this.#now = now;
  }

  /** Records an error that shows how many results a model returns. */
  note(model: string, error: unknown): void {
    if (!(error instanceof TooFew) || error.got === 0) return;
    this.#most.delete(model);
    this.#most.set(model, { got: error.got, until: this.#now() + REMEMBERED_MS });
    const [oldest] = this.#most.keys();
    if (this.#most.size > MAX_MODELS && oldest !== undefined) this.#most.delete(oldest);
  }

  /** @throws ApiError `invalidRequest` if the model is known to return fewer than `wanted` */
  check(model: string, wanted: number): void {
    const known = this.#most.get(model);
    if (known === undefined) return;
    if (known.until <= this.#now()) this.#most.delete(model);
    else if (wanted > known.got) throw new TooFew(this.#what, known.got, wanted);
  }
}
