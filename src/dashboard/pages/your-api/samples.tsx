/** The same call in each language, one at a time. */

import { Tabs } from '@mantine/core';
import { t } from '../../texts/language.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { type Examples, languageNames, languages } from './examples.ts';
import { chooseSampleLanguage, useSampleLanguage } from './sample-language.ts';

type Props = {
  code: Examples;
  /** If a secret is hidden in `code`. */
  copied?: Examples;
  onCopied?: () => void;
};

export function Samples({ code, copied = code, onCopied }: Props) {
  return (
    <Tabs value={useSampleLanguage()} onChange={chooseSampleLanguage} keepMounted={false}>
      <Tabs.List mb="sm">
        {languageNames.map((language) => (
          <Tabs.Tab key={language} value={language}>
            {languages[language]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {languageNames.map((language) => (
        <Tabs.Panel key={language} value={language}>
          <CodeBlock
            label={t('keys.connect.example', { language: languages[language] })}
            code={code[language]}
            copied={copied[language]}
            {...(onCopied && { onCopied })}
          />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
