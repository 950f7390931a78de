// The table of APIs that validates the upstreams file matches the dialects.
import t from 'tap';
import { dialects } from '../../../src/engines/dialects/index.ts';
import { bearer } from '../../../src/engines/upstream/transport.ts';
import { apis, dialectKinds } from '../../../src/upstreams-file/schema.ts';

const KEY = 'a-key';

for (const kind of dialectKinds)
  t.test(`${kind}: the table has its path, and the only header with the key`, async (t) => {
    const { keyHeaders = bearer, path } = dialects[kind];
    t.equal(path, apis[kind].path);
    const withKey = Object.entries(keyHeaders(KEY)).filter(([, value]) => value.includes(KEY));
    t.same(
      withKey.map(([name]) => name),
      [apis[kind].keyHeader],
    );
  });
