"""One build, many views: packages in the layouts of other tools."""
