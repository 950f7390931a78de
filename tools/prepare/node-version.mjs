/**
 * Explains in one line why this version of Node is not supported. Returns undefined if it is supported.
 *
 * @param {string} version the running version, such as `20.19.0`
 * @param {string} range from package.json; only the form `>=major.minor` is supported
 * @returns {string | undefined}
 */
export function nodeProblem(version, range) {
  const needed = range.replace('>=', '').trim();
  const [major, minor] = version.split('.').map(Number);
  const [neededMajor, neededMinor = 0] = needed.split('.').map(Number);
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return undefined;
  return (
    `Parley needs Node.js ${needed} or newer and this is ${version}: install Node.js 24 (recommended) ` +
    'from https://nodejs.org/en/download, or with a version manager (nvm install 24), then run this again.'
  );
}
