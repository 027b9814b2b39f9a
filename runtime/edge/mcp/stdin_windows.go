package mcp

import "os"

// Stdin returns the standard input. Its reads occupy a thread, and end when the other process closes it.
func Stdin() (in *os.File, restore func()) { return os.Stdin, func() {} }
