/** A result of `parley doctor`. Contract section 17. */
export type Finding = {
  /** An `error` stops the service or a part of it. A `warning` is a risk. */
  level: 'error' | 'warning';
  /** The name of a variable, or a part of the service. */
  about: string;
  /** The fault, as a sentence. */
  problem: string;
  /** The remedy, as a sentence. */
  remedy: string;
};

type Parts = readonly [about: string, problem: string, remedy: string];

export const isError = (...[about, problem, remedy]: Parts): Finding => ({
  level: 'error',
  about,
  problem,
  remedy,
});

export const isWarning = (...[about, problem, remedy]: Parts): Finding => ({
  level: 'warning',
  about,
  problem,
  remedy,
});

/** The code of an error, or its message. */
export function reasonOf(error: unknown): string {
  const { cause, code, message } = error as { cause?: unknown; code?: unknown; message?: string };
  if (typeof code === 'string') return code;
  return cause === undefined ? (message ?? String(error)) : reasonOf(cause);
}

/** Remedies for names that cannot be resolved, by the code of the error. */
export const dnsRemedies = {
  ENOTFOUND: 'Correct the host',
  EAI_AGAIN: 'Check the DNS settings of this machine, or correct the host',
};
