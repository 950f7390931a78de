import { Anchor } from '@mantine/core';

type Props = { contact: string | null; before?: string };

function addressOf(contact: string): string | undefined {
  if (/^https?:\/\/\S+$/.test(contact)) return contact;
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(contact) ? `mailto:${contact}` : undefined;
}

export function Operator({ before = '', contact }: Props) {
  if (contact === null) return null;
  const address = addressOf(contact);
  return (
    <>
      {before}
      {address === undefined ? (
        contact
      ) : (
        <Anchor href={address} underline="always" c="inherit" inherit>
          {contact}
        </Anchor>
      )}
    </>
  );
}
