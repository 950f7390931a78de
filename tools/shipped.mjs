/** Lock files whose packages reach operators or users. The other lock files are for tools and tests. */
export const shipped = [
  { folder: '.', name: 'parley' },
  { folder: 'src/dashboard', name: 'parley-dashboard' },
];
