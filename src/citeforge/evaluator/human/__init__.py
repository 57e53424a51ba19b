"""Labels of people: read, held against answers, and used to correct a judge's scores."""
