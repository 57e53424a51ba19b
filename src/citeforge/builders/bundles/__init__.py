"""Bundles: experiments frozen in a package."""
