"""Publishing benchmarks: card, Croissant, Hub, exports. Renders, decides nothing."""
