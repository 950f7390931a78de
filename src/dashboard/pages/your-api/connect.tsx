/** The URLs of the API, and sample calls. The page always shows them. */

import { Anchor, Stack, Text } from '@mantine/core';
import { t } from '../../texts/language.ts';
import { CopyField } from '../../ui/copy-field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useChatEngine } from './engine.ts';
import { anthropicUrl, apiUrl, examples } from './examples.ts';
import { Samples } from './samples.tsx';
import { scopeNames } from './scopes.ts';
import classes from './your-api.module.css';

export function Connect() {
  const engine = useChatEngine();
  const urls = [
    { client: t('keys.connect.parley'), url: apiUrl(), guide: 'getting-started' },
    { client: t('keys.connect.openai'), url: apiUrl(), guide: 'openai-compatible' },
    { client: t('keys.connect.anthropic'), url: anthropicUrl(), guide: 'anthropic-compatible' },
  ];
  return (
    <Panel title={t('keys.connect.title')} description={t('keys.connect.about')}>
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
                  aria-label={t('keys.connect.guideTo', { client })}
                >
                  {t('keys.connect.guide')}
                </Anchor>
              </dt>
              <dd>
                <CopyField isSmall value={url} label={t('keys.connect.urlOf', { client })} />
              </dd>
            </div>
          ))}
        </dl>
        <Samples code={examples(null, scopeNames, engine)} />
        <Text size="sm" c="dimmed">
          {t.rich('keys.connect.variable', { code: (chunks) => <code>{chunks}</code> })}
        </Text>
      </Stack>
    </Panel>
  );
}
