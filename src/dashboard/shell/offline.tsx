import { Alert } from '@mantine/core';
import { useNetwork } from '@mantine/hooks';
import { WarningIcon } from '../ui/icons.tsx';

export function OfflineNotice() {
  const { online } = useNetwork();
  return (
    <div role="status">
      {!online && (
        <Alert color="yellow" variant="light" icon={<WarningIcon />} mb="lg" title="You are offline">
          This page may be out of date. It will refresh when you are back online.
        </Alert>
      )}
    </div>
  );
}
