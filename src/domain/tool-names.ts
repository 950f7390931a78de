/** Names of tools, which most models know only without namespaces. Contract section 14. */
import { createHash } from 'node:crypto';

/** What upstreams accept as the name of a function. */
const LONGEST_NAME = 64;
const DIGEST_LENGTH = 8;

/** The function name of a tool in a namespace: `namespace__name`, shortened to a unique name if it is too long. */
export function flatName(name: string, namespace: string | undefined): string {
  if (namespace === undefined) return name;
  const flat = `${namespace.replace(/_+$/, '')}__${name}`;
  if (flat.length <= LONGEST_NAME) return flat;
  const digest = createHash('sha256').update(flat).digest('hex').slice(0, DIGEST_LENGTH);
  return `${flat.slice(0, LONGEST_NAME - DIGEST_LENGTH - 1)}_${digest}`;
}
