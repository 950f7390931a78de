import { Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { t } from '../../texts/language.ts';
import { BusyButton } from '../../ui/busy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { DownloadIcon } from '../../ui/icons.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';
import { download, type Format, formats } from './download.ts';

const names = Object.keys(formats) as Format[];

export function DownloadDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const save = useMutation({ mutationFn: (format: Format) => download(id, format), onSuccess: onClose });
  return (
    <Dialog title={t('chat.download.title')} onClose={onClose}>
      <Stack>
        <Text>{t('chat.download.about')}</Text>
        {save.error !== null && <ProblemAlert error={save.error} />}
        <Group>
          {names.map((format) => (
            <BusyButton
              key={format}
              isBusy={save.isPending && save.variables === format}
              icon={<DownloadIcon size={18} />}
              onClick={() => save.mutate(format)}
            >
              {formats[format].label}
            </BusyButton>
          ))}
        </Group>
      </Stack>
    </Dialog>
  );
}
