// Package shelltext compiles the two ways of naming a program: a script for a shell, and a list of
// words for the operating system.
//
// CompileScript turns a template into constant text: values travel in the environment and the text
// of a script is the same in every call. CompileArgv and CompilePipe turn written lists into words:
// every value is one word or part of one, or a list of whole words.
//
// The guarantee: no value of a call becomes text that a shell parses, and none becomes an option of
// a program or a piece of its code where the author did not write so. What cannot be bound that way
// is refused when the file is loaded.
package shelltext
