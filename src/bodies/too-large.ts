import { ApiError } from '../errors.ts';

const MIB = 1024 * 1024;

export const inMebibytes = (bytes: number) => (bytes >= MIB ? `${bytes / MIB} MiB` : `${bytes / 1024} KiB`);

/** The error for a body of more than `limit` bytes. Contract section 6. */
export const payloadTooLarge = (limit: number): ApiError =>
  new ApiError('payloadTooLarge', {
    message: `The request body exceeds this endpoint's limit of ${inMebibytes(limit)}. Send a smaller body.`,
  });
