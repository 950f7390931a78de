/** Logs outages of repeated work: the first failure of each, and its end. */

export type OutageLog = { error(details: object, message: string): void; info(message: string): void };

/** Wraps repeated work so that it logs its outages as `name` and never rejects. */
export function loggingOutages(
  log: OutageLog,
  name: string,
  work: () => Promise<unknown>,
): () => Promise<void> {
  let isFailing = false;
  return async () => {
    try {
      await work();
      if (isFailing) log.info(`${name} works again.`);
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.error({ err }, `${name} failed. It is repeated until it works.`);
      isFailing = true;
    }
  };
}
