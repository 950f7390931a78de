export type OutageLog = { error(details: object, message: string): void; info(message: string): void };

/** Logs the first failure of each outage and its end. The returned function never rejects. */
export function loggingOutages(
  log: OutageLog,
  name: string,
  work: () => Promise<unknown>,
): () => Promise<void> {
  let isFailing = false;
  return async () => {
    try {
      await work();
      if (isFailing) log.info(`${name} has recovered.`);
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.error({ err }, `${name} failed. Retrying until it succeeds.`);
      isFailing = true;
    }
  };
}
