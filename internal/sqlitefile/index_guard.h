// Makes sure that connections of one process to different databases never share the index of a WAL; see index_guard.c.

// Has SQLite open and close files with the guard from now on. Returns 0, or an error of SQLite. It is called before
// the first database is opened.
int sqlitefile_guard_indexes(void);

// Returns how often the guard has refused to open an index.
long sqlitefile_refusals(void);
