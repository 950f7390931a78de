import { isIncomplete } from '../bodies/sealed.ts';
import { ApiError } from '../errors.ts';

/** Throws ApiError `invalidRequest` for a body with too many values to translate. Contract section 6. */
export function assertReadable(body: object): void {
  if (!isIncomplete(body)) return;
  throw new ApiError('invalidRequest', {
    message:
      'The request body has too many values. Send fewer, or use `/chat/completions`, which forwards the body without translating it.',
  });
}
