// Package shelltext compiles the two forms of a command: a script for a shell, and a list of words
// for the operating system.
//
// [CompileScript] compiles a template to a script whose text is the same in every call; values are
// passed in the environment. [CompileArgv] and [CompilePipe] compile lists of words: every value is
// one word, a part of one, or a list of complete words.
//
// A compiled command guarantees that no value of a call becomes text that a shell parses, and that
// no value becomes an option of a program unless the author wrote it that way. A value that cannot be
// bound like this is rejected at load.
//
// Which words, files and input of a program are code is known of the programs in commandSpecs. A value
// that such a program would run is rejected, however a script has moved it there: through variables,
// descriptors, files and other programs. Programs in dataPrograms run none of their words. Of a program
// in neither table nothing is known: it may run what it is given, so that a caller's text for it is
// reported as a warning, unless the author declares that it takes text for data.
package shelltext
