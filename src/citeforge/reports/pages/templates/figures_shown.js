// Writes hundredths as engines/shown.py writes the number: a dash without one; "+" before a difference.
function showHundredths(value, digits = 2, sign = "") {
  if (value === null || value === undefined) return "–";
  return `${value < 0 ? "" : sign}${(value / 100).toFixed(digits)}`;
}
