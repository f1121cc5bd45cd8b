"""Table options: declared once, translated from other systems' spellings, parsed, checked."""
