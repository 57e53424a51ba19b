"""What things are: records, table schemas, the citation grammar, errors. No I/O."""
