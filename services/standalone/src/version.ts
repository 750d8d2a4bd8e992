/** Of this package; a test keeps it true. */
export const VERSION = "0.1.0";
