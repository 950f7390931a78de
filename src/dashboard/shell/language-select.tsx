import { NativeSelect } from '@mantine/core';
import { chooseLanguage, type Language, language, languageNames, languages, t } from '../texts/language.ts';

/** The ID keeps the focus when the page renders in the other language. */
export const LanguageSelect = () => (
  <NativeSelect
    id="language"
    aria-label={t('shell.language')}
    data={languages.map((value) => ({ value, label: languageNames[value] }))}
    value={language}
    onChange={(event) => chooseLanguage(event.currentTarget.value as Language)}
  />
);
