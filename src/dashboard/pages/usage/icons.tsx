import { icon } from '../../ui/icons.tsx';

export const PreviousIcon = icon(<path d="m14.5 6-6 6 6 6" />);
export const NextIcon = icon(<path d="m9.5 6 6 6-6 6" />);
export const FiltersIcon = icon(<path d="M4 6h16M7 12h10M10 18h4" />);
export const RefreshIcon = icon(<path d="M20 12a8 8 0 1 1-2.5-5.8M20 3v5h-5" />);
