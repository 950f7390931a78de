/** Where the API is, and how to call it: on the page at all times. */
import { Anchor, Stack, Text } from '@mantine/core';
import { useService } from '../../api/queries.ts';
import { CopyField } from '../../ui/copy-field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { anthropicUrl, apiUrl, examples } from './examples.ts';
import { Samples } from './samples.tsx';
import { scopeNames } from './scopes.ts';
import classes from './your-api.module.css';

export function Connect() {
  const { data: service } = useService();
  const hasModel = service !== undefined && service.engine.chat !== 'builtin';
  const urls = [
    { client: 'Parley API', url: apiUrl(), guide: 'getting-started' },
    { client: 'OpenAI clients', url: apiUrl(), guide: 'openai-compatible' },
    { client: 'Anthropic clients', url: anthropicUrl(), guide: 'anthropic-compatible' },
  ];
  return (
    <Panel title="Use the API" description="Base URLs for your clients, and an example to start from.">
      <Stack>
        <dl className={classes.urls}>
          {urls.map(({ client, guide, url }) => (
            <div key={client}>
              <dt>
                {client}
                <Anchor
                  href={`/docs/guides/${guide}`}
                  size="sm"
                  underline="always"
                  aria-label={`Guide to ${client}`}
                >
                  Guide
                </Anchor>
              </dt>
              <dd>
                <CopyField isSmall value={url} label={`base URL for ${client}`} />
              </dd>
            </div>
          ))}
        </dl>
        <Samples code={examples(null, scopeNames, hasModel)} />
        <Text size="sm" c="dimmed">
          Set the environment variable <code>PARLEY_KEY</code> to your key. Full keys are shown only once,
          when you create or rotate them.
        </Text>
      </Stack>
    </Panel>
  );
}
