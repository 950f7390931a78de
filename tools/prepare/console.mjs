/** A problem that the user can fix. Its message is one line that says how to fix it. */
export class Failure extends Error {}

/** Writes progress to standard error, to keep standard output clean. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/**
 * Shows progress during `work`, because npm and tsc are silent without a terminal. A terminal shows a running clock.
 * Other outputs, such as a CI log, get a line every five seconds. Both show the duration at the end.
 *
 * @template T
 * @param {string} title description of the work
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(title, work) {
  const started = Date.now();
  const elapsed = () => `${Math.round((Date.now() - started) / 1000)} s`;
  const onTerminal = process.stderr.isTTY;
  if (onTerminal) process.stderr.write(`${title} …`);
  else say(`${title} …`);
  const clock = setInterval(
    () => (onTerminal ? process.stderr.write(`\r\x1b[K${title} … ${elapsed()}`) : say(`  … ${elapsed()}`)),
    onTerminal ? 1000 : 5000,
  );
  try {
    const result = await work();
    const took = `${((Date.now() - started) / 1000).toFixed(1)} s`;
    say(onTerminal ? `\r\x1b[K${title}: done in ${took}` : `  done in ${took}`);
    return result;
  } catch (error) {
    if (onTerminal) say('');
    throw error;
  } finally {
    clearInterval(clock);
  }
}

/** The message for a file system error. Undefined for any other error. */
export function failureFromFileSystem(error, root) {
  switch (error?.code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new Failure(
        `Cannot write to ${error.path ?? root}: dependencies and the build go into the checkout. Make ` +
          `${root} writable for this user (sudo chown -R "$(id -un)" .), or clone it into your own folder.`,
      );
    case 'ENOSPC':
      return new Failure(`The disk with ${root} is full: free up about 500 MB, then run this again.`);
    default:
      return undefined;
  }
}
