import type { ParleyError } from '../../sdk/index.ts';

/** Texts for errors of the API, by code, or by code and parameter. */
export type ApiErrors = Partial<Record<ParleyError['code'] | `${ParleyError['code']}.${string}`, string>>;
