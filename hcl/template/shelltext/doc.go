// Package shelltext compiles the two forms of a command: a script for a shell, and a list of words
// for the operating system.
//
// [CompileScript] compiles a template to a script whose text is the same in every call; values are
// passed in the environment. [CompileArgv] and [CompilePipe] compile lists of words: every value is
// one word, a part of one, or a list of complete words.
//
// A compiled command guarantees that no value of a call becomes text that a shell parses, and that
// no value becomes an option or code of a program unless the author wrote it that way. A value that
// cannot be bound like this is rejected at load.
package shelltext
