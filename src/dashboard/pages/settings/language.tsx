import { LanguageSelect } from '../../shell/language-select.tsx';
import { t } from '../../texts/language.ts';
import { Panel } from '../../ui/panel.tsx';

export const LanguagePanel = () => (
  <Panel
    title={t('settings.language.title')}
    description={t('settings.language.about')}
    action={<LanguageSelect />}
  />
);
