"""Perplexity of texts: n-grams, a causal language model, or an endpoint's log probabilities."""
