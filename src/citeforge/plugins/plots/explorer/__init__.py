"""Every answer of score files, to be filtered, searched and compared in a page."""
