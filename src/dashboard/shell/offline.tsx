import { Alert } from '@mantine/core';
import { useNetwork } from '@mantine/hooks';
import { t } from '../texts/language.ts';
import { WarningIcon } from '../ui/icons.tsx';

export function OfflineNotice() {
  const { online } = useNetwork();
  return (
    <div role="status">
      {!online && (
        <Alert color="yellow" variant="light" icon={<WarningIcon />} mb="lg" title={t('shell.offline.title')}>
          {t('shell.offline.text')}
        </Alert>
      )}
    </div>
  );
}
