import { icon } from '../../ui/icons.tsx';

export const SendIcon = icon(<path d="M12 19V5M6 11l6-6 6 6" />);
export const StopIcon = icon(<rect x="6" y="6" width="12" height="12" rx="1.5" fill="currentColor" />);
export const DownIcon = icon(<path d="M12 5v14M6 13l6 6 6-6" />);
export const AgainIcon = icon(<path d="M20 12a8 8 0 1 1-2.5-5.8M20 3v5h-5" />);
export const TrashIcon = icon(<path d="M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5" />);
export const SearchIcon = icon(
  <>
    <circle cx="11" cy="11" r="6.5" />
    <path d="m20 20-4.3-4.3" />
  </>,
);
export const PinIcon = icon(<path d="M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v6" />);
export const PinnedIcon = icon(<path d="M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v6" fill="currentColor" />);
export const ListIcon = icon(<path d="M4 6h16M4 12h16M4 18h10" />);
export const EditIcon = icon(<path d="M4 20h4L19 9l-4-4L4 16zM13 7l4 4" />);
export const AttachIcon = icon(
  <>
    <rect x="3.5" y="4.5" width="17" height="15" rx="2" />
    <circle cx="8.5" cy="9.5" r="1.5" />
    <path d="m4 17 5-4.5 3.5 3 3-2.5 5 4" />
  </>,
);
export const RemoveIcon = icon(<path d="m6 6 12 12M18 6 6 18" />);
