// Package files stores the files that callers upload. The metadata of a file is one record of a
// state.Store, and its bytes are records of at most 512 KiB, so that every process that shares the
// store serves every file. A file can be read once its upload is complete, by its owner, until it
// expires; nothing of an interrupted upload can be read.
//
// A [Store] is the entry point.
package files
