// Package files keeps the files that callers upload: what is known of each is one record of a state.Store, its bytes are records of at most 512 KiB, so that every process that
// shares the store serves every file. A file can be read when all of it was taken, by who has uploaded it, until it expires; of one that was cut short nothing can be read.
//
// A Shelf is the entry point.
package files
