const networkCodes =
  /\b(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ESOCKETTIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|FETCH_ERROR)\b/;
const certificateCodes = /\b(UNABLE_TO_\w+|SELF_SIGNED_CERT\w*|CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT)\b/;

/**
 * Turns the output of a failed `npm ci` into one line with instructions. npm's output precedes the line only if the
 * cause is unknown.
 */
export function explainNpm(output, code) {
  const network = networkCodes.exec(output)?.[1];
  if (network) {
    return (
      `The npm registry cannot be reached (${network}): check the network, HTTPS_PROXY, and ` +
      '"npm config get registry", then run this again.'
    );
  }
  const certificate = certificateCodes.exec(output)?.[1];
  if (certificate) {
    return (
      `The npm registry's certificate is not trusted (${certificate}): behind a proxy that replaces certificates, set ` +
      'its CA with "npm config set cafile FILE", then run this again.'
    );
  }
  if (/\bENOSPC\b/.test(output)) return 'The disk is full: free up about 500 MB, then run this again.';
  if (/\bE40[13]\b/.test(output)) {
    return 'The npm registry denies access (401 or 403): check "npm config get registry" and its credentials, then run this again.';
  }
  if (/\b(EACCES|EPERM|EROFS)\b/.test(output)) {
    return 'npm cannot write to its cache: make the folder in "npm config get cache" writable for this user, then run this again.';
  }
  if (/\bEUSAGE\b/.test(output)) {
    return 'package.json and package-lock.json do not match: run "npm install --package-lock-only" and commit the result, then run this again.';
  }
  return `${output.trim()}\nnpm ci failed (exit code ${code}). Its output is above.`;
}
