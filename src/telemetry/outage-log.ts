export type OutageLog = { error(details: object, message: string): void; info(message: string): void };

/**
 * Logs the first failure of each outage and its end. The returned function never rejects. While a run is in progress, it
 * returns that run instead of starting another.
 */
export function loggingOutages(
  log: OutageLog,
  name: string,
  work: () => Promise<unknown>,
): () => Promise<void> {
  let isFailing = false;
  let running: Promise<void> | undefined;
  const run = async () => {
    try {
      await work();
      if (isFailing) log.info(`${name} has recovered.`);
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.error({ err }, `${name} failed. Retrying until it succeeds.`);
      isFailing = true;
    }
  };
  return () => {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
}
