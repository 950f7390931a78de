export function BrandMark({ size = 28 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path
        fill="var(--mantine-color-brand-8)"
        d="M8 3h16a6 6 0 0 1 6 6v9a6 6 0 0 1-6 6H14l-6.3 5.2A1 1 0 0 1 6 28.4V23.7A6 6 0 0 1 2 18V9a6 6 0 0 1 6-6z"
      />
      <path fill="none" stroke="#fff" strokeWidth="2.6" strokeLinecap="round" d="M9.5 11h13M9.5 16h8" />
    </svg>
  );
}
