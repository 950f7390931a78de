/** A problem that the person at the keyboard can mend; its message is one line that says how. */
export class Failure extends Error {}

/** Progress goes to standard error, so that a command's own output stays clean. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/**
 * Shows that `work` is going on, since npm and tsc are silent when not on a terminal: a running clock on a terminal, a
 * line every five seconds elsewhere (a CI log), and at the end how long it took.
 *
 * @template T
 * @param {string} title what is being done
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

/** The sentence for what the file system refuses; nothing for any other error. */
export function failureFromFileSystem(error, root) {
  switch (error?.code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new Failure(
        `Cannot write to ${error.path ?? root}: dependencies and the build go into the checkout itself, so make ` +
          `${root} writable for this user (sudo chown -R "$(id -un)" .) or clone it into a folder of your own.`,
      );
    case 'ENOSPC':
      return new Failure(
        `The disk that holds ${root} is full: make room (about 500 MB), then run this again.`,
      );
    default:
      return undefined;
  }
}
