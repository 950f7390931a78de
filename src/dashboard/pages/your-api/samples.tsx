/** The same call in several languages, one at a time. */

import { Anchor, Tabs } from '@mantine/core';
import { t } from '../../texts/language.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { type Examples, guides, languageNames, languages } from './examples.ts';
import { chooseSampleLanguage, useSampleLanguage } from './sample-language.ts';
import classes from './your-api.module.css';

type Props = {
  code: Examples;
  /** The text to copy, if `code` hides a secret. */
  copied?: Examples;
  onCopied?: () => void;
};

export function Samples({ code, copied = code, onCopied }: Props) {
  const chosen = useSampleLanguage();
  const samples = languageNames.flatMap((language) => {
    const sample = code[language];
    return sample === undefined ? [] : [{ language, sample, guide: guides[language] }];
  });
  return (
    <Tabs
      value={code[chosen] === undefined ? 'curl' : chosen}
      onChange={chooseSampleLanguage}
      keepMounted={false}
    >
      <Tabs.List mb="sm">
        {samples.map(({ language }) => (
          <Tabs.Tab key={language} value={language} className={classes.language ?? ''}>
            {languages[language]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {samples.map(({ guide, language, sample }) => (
        <Tabs.Panel key={language} value={language}>
          <CodeBlock
            label={t('keys.connect.example', { language: languages[language] })}
            code={sample}
            copied={copied[language] ?? sample}
            {...(onCopied && { onCopied })}
          />
          {guide !== undefined && (
            // In a new tab, because a dialog may show a key that cannot be shown again.
            <Anchor
              href={`/docs/guides/${guide}`}
              target="_blank"
              size="sm"
              underline="always"
              display="inline-block"
              mt="xs"
            >
              {t('keys.connect.exampleGuide', { language: languages[language] })}
            </Anchor>
          )}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
