// Package urltext compiles templates of URLs. [CompilePath] compiles the part after the base URL of
// a connection, [CompileURL] a complete URL.
//
// A compiled template guarantees that a value of a call is one segment of a path, several complete
// segments with path(), or one value of a query. A value never changes the scheme, the host, the
// port, the number of segments or the names in a query, however often a server decodes the URL.
package urltext
