"""Roaring bitmaps in their three byte forms."""
