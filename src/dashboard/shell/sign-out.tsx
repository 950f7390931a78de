import { Text } from '@mantine/core';
import { t } from '../texts/language.ts';
import { Confirm } from '../ui/confirm.tsx';

type Props = { isPending: boolean; error: unknown; onConfirm: () => void; onClose: () => void };

/** Confirms a sign-out, because it deletes drafts. */
export default function ConfirmSignOut(props: Props) {
  return (
    <Confirm title={t('shell.signOut')} action={t('shell.signOut')} isDangerous {...props}>
      <Text size="sm">{t('shell.unsent')}</Text>
    </Confirm>
  );
}
