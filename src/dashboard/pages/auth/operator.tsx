import { Anchor } from '@mantine/core';

function addressOf(contact: string): string | undefined {
  if (/^https?:\/\/\S+$/.test(contact)) return contact;
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(contact) ? `mailto:${contact}` : undefined;
}

export function Operator({ contact }: { contact: string }) {
  const address = addressOf(contact);
  if (address === undefined) return contact;
  return (
    <Anchor href={address} underline="always" c="inherit" inherit>
      {contact}
    </Anchor>
  );
}
