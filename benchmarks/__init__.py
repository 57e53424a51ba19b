"""Speed and memory against peers, as ratios measured in one run."""

import os

# What is measured is computed: `cache` alone measures what is kept.
os.environ["CITEFORGE_CACHE"] = "off"
