// Package urltext compiles templates of URLs. CompilePath is for what is after the base URL of
// a connection, CompileURL for a whole URL.
//
// The guarantee: a value of a call is one segment of a path, several whole segments with path(), or
// one value of a query. It never changes the scheme, the host, the port, the number of segments or
// the names in a query, however often a server decodes what it is sent.
package urltext
