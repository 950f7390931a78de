/** The lock files whose packages reach whoever runs Parley or opens its pages; the others are tools and tests. */
export const shipped = [
  { folder: '.', name: 'parley' },
  { folder: 'src/dashboard', name: 'parley-dashboard' },
];
