/** Icons. They are decorative, so they are hidden from screen readers. */
import type { ReactNode } from 'react';
import { drawings, type SectionName } from '../sections.ts';

type Props = { size?: number };

function Drawing({ children, size = 20 }: Props & { children: ReactNode }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const icon = (drawing: ReactNode) =>
  function Icon(props: Props) {
    return <Drawing {...props}>{drawing}</Drawing>;
  };

export const SectionIcon = ({ name, ...props }: Props & { name: SectionName }) => (
  <Drawing {...props}>
    <path d={drawings[name]} />
  </Drawing>
);

export const SignOutIcon = icon(<path d="M14 4H6a1 1 0 0 0-1 1v14a1 1 0 0 0 1 1h8M10 12h11M17 8l4 4-4 4" />);
export const SunIcon = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1.1 1.1M17.3 17.3l1.1 1.1M18.4 5.6l-1.1 1.1M6.7 17.3l-1.1 1.1" />
  </>,
);
export const MoonIcon = icon(<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z" />);
export const SystemIcon = icon(
  <>
    <rect x="3" y="4" width="18" height="12" rx="2" />
    <path d="M9 20h6M12 16v4" />
  </>,
);
export const CopyIcon = icon(
  <>
    <rect x="8" y="8" width="12" height="12" rx="2" />
    <path d="M16 8V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h2" />
  </>,
);
export const CheckIcon = icon(<path d="m5 12.5 4.5 4.5L19 7" />);
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />);
export const DownloadIcon = icon(<path d="M12 4v11M7 11l5 5 5-5M5 20h14" />);
export const CloseIcon = icon(<path d="M6 6l12 12M18 6 6 18" />);
export const WarningIcon = icon(<path d="M12 4 2.5 20h19zM12 10v4.5M12 17.3v.1" />);
export const InfoIcon = icon(
  <>
    <circle cx="12" cy="12" r="9" />
    <path d="M12 11v5.5M12 7.8v.1" />
  </>,
);
