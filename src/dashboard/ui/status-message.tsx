/** The result of an action. Screen readers announce it, and it remains on the screen until the user closes it. */

import { Alert, Paper, Text } from '@mantine/core';
import { t } from '../texts/language.ts';
import { focusHeading } from './focus.ts';
import { InfoIcon } from './icons.tsx';
import classes from './status-message.module.css';

type Props = { message: string | undefined; onClose: () => void };

export const StatusMessage = ({ message, onClose }: Props) => (
  <div role="status" className={classes.status}>
    {message !== undefined && (
      // The alert's background is translucent.
      <Paper shadow="md" mb="md" bg="var(--parley-panel)">
        <Alert
          variant="light"
          icon={<InfoIcon />}
          withCloseButton
          closeButtonLabel={t('ui.close')}
          onClose={() => {
            onClose();
            focusHeading();
          }}
        >
          <Text size="sm" c="var(--mantine-color-text)">
            {message}
          </Text>
        </Alert>
      </Paper>
    )}
  </div>
);
