/**
 * Says what is wrong with this version of Node, in one line; nothing when it will do.
 *
 * @param {string} version the version that runs, such as `20.19.0`
 * @param {string} range what package.json asks for; only the form `>=major.minor` is understood
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
